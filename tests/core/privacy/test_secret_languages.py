"""Secrets in prose, in the languages that capture understands, and texts that only mention them.

The secrets are assembled here, so that no scanner of repositories takes one for real.
"""

from __future__ import annotations

import pytest
from tests.core.privacy.secret_samples import some

from recollect.core.privacy.secrets.detect import find_secrets, looks_sensitive

_WORD = "Blue" + "7Fox!"
_PLAIN = "hunter" + "2xyz9"
_KEY = some(32)

SECRETS: tuple[str, ...] = (
    # German
    f"Das neue Passwort ist ab heute {_WORD}",
    f"Passwort für die Datenbank: {_WORD}",
    f"Wir haben das Passwort auf {_WORD} geändert",
    f"Das Kennwort wurde auf {_PLAIN} gesetzt",
    f"Unser API-Schlüssel ist {_KEY}",
    f"Der Zugangsschlüssel lautet {_KEY}",
    # French
    f"le mot de passe est maintenant {_WORD}",
    f"le mot de passe du serveur, c'est {_WORD}",
    f"mot de passe de la base : {_PLAIN}",
    f"le mdp est {_WORD}",
    f"mdp : {_PLAIN}",
    f"Notre clé d'API est {_KEY}",
    f"la clé API : {_KEY}",
    f"le jeton d'accès est {_KEY}",
    # Spanish
    f"La contraseña ha cambiado a {_WORD}",
    f"contraseña nueva: {_PLAIN}",
    f"la contraseña de la base de datos ahora es {_WORD}",
    f"Nuestra clave de API es {_KEY}",
    f"el token de acceso es {_KEY}",
    # Russian
    f"пароль от базы: {_WORD}",
    f"Пароль — {_WORD}",
    f"пароль для сервера теперь {_WORD}",
    f"пароль администратора {_PLAIN}",
    f"поменяли пароль на {_WORD}",
    f"пароль: «{_WORD}»",
    f"Наш ключ API: {_KEY}",
    f"API-ключ {_KEY} для стенда",
    f"токен доступа — {_KEY}",
    # Japanese
    f"パスワードは{_WORD}です",
    f"データベースのパスワードは {_WORD} です。",
    f"パスワードを{_PLAIN}に変更しました",
    f"管理者パスワード：{_WORD}",
    f"パスワードは「{_WORD}」",
    f"APIキーは{_KEY}です",
    f"アクセストークンは {_KEY}",
    # Chinese
    f"密码是{_WORD}",
    f"数据库密码为 {_PLAIN}",
    f"服务器的密码改成了{_WORD}",
    f"密碼是{_WORD}",
    f"登录口令：{_PLAIN}",
    f"密码是“{_WORD}”",
    f"我们的API密钥是{_KEY}",
    f"访问令牌为{_KEY}",
)

MENTIONS: tuple[str, ...] = (
    "Das Passwort wurde gestern geändert",
    "Passwort für die Datenbank: siehe Tresor",
    "Der API-Schlüssel liegt in Vault2",
    "Das Passwort läuft am 2026-11-16 ab",
    "le mot de passe est dans le coffre",
    "le mot de passe doit avoir 12 caractères",
    "la clé API expire en 2027",
    "la contraseña caduca cada 90 días",
    "la clave de API se guarda en Vault2",
    "пароль хранится в сейфе",
    "пароль истекает через 90 дней",
    "менеджер паролей — Bitwarden2",
    "пароль нужно менять каждые 90 дней",
    "токен действует 3600 секунд",
    "パスワードは90日ごとに変更する",
    "パスワードは12文字以上にする",
    "パスワードマネージャーは1Password7です",
    "APIキーは環境変数API_KEY_2に入れる",
    "密码每90天更换一次",
    "密码管理器是1Password7",
    "密码长度至少为12位",
    "API密钥保存在Vault2里",
    "トークンの検証は auth/jwt_validator_v2.py にある",
    "令牌桶算法的实现在 pkg/ratelimit/token_bucket_v2.go",
    "API-Schlüssel liegen in config/keys/production-2024.yaml",
    "トークン数の上限は gpt-4o-2024-08-06 で128k",
    "密钥算法是 ssh-ed25519-cert-v01",
)


@pytest.mark.parametrize("text", SECRETS)
def test_secret_in_prose_is_found_in_any_of_the_languages(text: str) -> None:
    assert looks_sensitive(text) is not None


@pytest.mark.parametrize("text", SECRETS)
def test_only_the_secret_itself_is_marked(text: str) -> None:
    found = [text[secret.start : secret.end] for secret in find_secrets(text)]
    assert [value.rstrip(".,;:)") for value in found] in ([_WORD], [_PLAIN], [_KEY])


@pytest.mark.parametrize("text", MENTIONS)
def test_text_about_a_secret_is_not_one(text: str) -> None:
    assert looks_sensitive(text) is None
