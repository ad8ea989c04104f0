"""Credentials are found, ordinary notes are left alone, and no text is slow or raises."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.privacy.innocent_samples import NEGATIVES
from tests.core.privacy.secret_samples import POSITIVES, some
from tests.effort import sample
from tests.strategies import any_text

from recollect.core.privacy.secrets.detect import (
    SENSITIVE_CONFIDENCE,
    find_secrets,
    looks_sensitive,
)
from recollect.core.text.secret import Secret


def test_detector_is_right_about_every_labelled_text() -> None:
    missed = [text for text in POSITIVES if looks_sensitive(text) is None]
    alarms = [(text, found) for text in NEGATIVES if (found := looks_sensitive(text))]
    shown = "\n".join(
        [
            *(f"missed: {text}" for text in missed),
            *(f"false alarm: {text} {found}" for text, found in alarms),
        ]
    )
    assert len(POSITIVES) >= 220
    assert len(NEGATIVES) >= 300
    assert not shown, shown


@pytest.mark.parametrize(
    "value",
    [
        "changeme",
        "Change-Me-2026!",
        "Example-Pass-1!",
        "<your-key>",
        "your_Api_Key_9x8y7z6w5v",
        "${DB_PASSWORD}",
        "$DB_PASSWORD",
        "{{ vault.db }}",
        'os.environ["DB_PASSWORD_2"]',
        "process.env.DB_PASSWORD2",
        "Xxxxxxxxx1!",
        "********1A",
        "get_password(2)",
        "db_password_2",
    ],
)
@pytest.mark.parametrize("name", ["password=", "api_key = "])
def test_placeholder_is_not_a_secret(name: str, value: str) -> None:
    assert find_secrets(name + value) == ()


_WORD = "Blue" + "7Fox!"


@pytest.mark.parametrize(
    "text",
    [
        f"our API key is {some(32)}",
        f"The token is now {some(40)}.",
        f"use the api key {some(32)} for staging",
        "the root password is hunter2",
        "the wifi password is " + "hunter2xyz9.",
        "Password is now " + "k9mpq2zz7",
        "we set the password to " + "7x2m9q4wlz",
        "password: monkey123",
        f"**Password:** {_WORD}",
        f"| password | {_WORD} |",
        f"Password:\n  {_WORD}",
        f"Password (admin): {_WORD}",
        f"password for the staging db: {_WORD}",
        f"<password>{_WORD}</password>",
        f"Kennwort: {_WORD}",
        f"mot de passe : {_WORD}",
        f"\u30d1\u30b9\u30ef\u30fc\u30c9\uff1a{_WORD}",
        "DB_PASSWORD=letmein",
        f"mysql -u root -p{_WORD} app",
        f"docker login -u ann -p {_WORD} registry.internal",
        f"Authorization: token {some(40)}",
        f"Authorization: {some(40)}",
        "postgres://app:p@ss!" + "9@db.internal/app",
        "PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nPrivate-Lines: 14\n" + some(64),
        "xai" + "-" + some(60),
    ],
)
def test_the_ways_in_which_people_write_a_secret_down(text: str) -> None:
    assert looks_sensitive(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "The password for the Wi-Fi network changed to WPA3-Enterprise",
        "**Keeping Your Password Manager App Up to Date:**",
        "postgres://recollect:recollect@localhost/recollect",
        "token: 0xdAC17F958D2ee523a2206206994597C13D831ec7",
        "next_page_token: eyJvZmZzZXQiOjEwMH0",
        "sync token: abc123def456ghi789jkl",
        "our API key is rotated-every-90-days-by-a-job",
        "the token is 36 characters long",
        "the api key id is 550e8400-e29b-41d4-a716-446655440000",
        "the password is oauth2",
        "the password is base64encoded",
        "the password is argon2id-hashed, the old one was sha256sum",
        "| password | varchar(255) |",
        "password manager: 1Password",
        "Password policy:\nat least 12 characters",
        "password:\n  secretKeyRef: {name: db}",
        "ALLOW_EMPTY_PASSWORD=false",
        "POSTGRES_PASSWORD=postgres",
        "DB_PASSWORD=changeme",
        "mysql -u root -p app",
        "mysql -h db -P 3306 -u root",
        'docker login -u ann -p "$PW"',
        "Authorization: Bearer scheme of RFC6750",
        "<password>${db.password}</password>",
    ],
)
def test_ordinary_writing_about_secrets_is_none(text: str) -> None:
    assert looks_sensitive(text) is None


# Passwords that contain a word which alone would be a placeholder.
HOLDING_A_PLACEHOLDER = (
    "password: hunter2" + "secret",
    "DB_PASSWORD=" + "mysecretpw42",
    "db pass is " + "Xk29_lmQz",
    "password: " + "tokenring77",
    "the admin password is " + "Secretgarden1987",
    "POSTGRES_PASSWORD=" + "hunter2_secret",
    "DB_PASS=" + "passwurst",
    "DB_PASSWORD=" + "secretgarden",
    "MYSQL_PWD=" + "keytokyo88",
    "password = '" + "s3cretpassword" + "'",
    "postgres://app:" + "mysecretpw42" + "@db.internal/app",
    "Passwort: " + "geheimtoken77",
    "password: " + "password42",
    "password: " + "Sunset99!",
    "the root password is " + "fireplace77",
    "password=" + "insertcoin99",
    "wifi password: '" + "hiddenfox77" + "'",
    "password: " + "metodo99!",
    "password is '" + "showtime88" + "'",
    "the wifi password is '" + "changeling-river" + "'",
    "Authorization: Bearer " + "mytoken9f8e7d6c5b",
)
# Whole words that are placeholders for a secret, and names of what holds one.
PLACEHOLDERS = (
    "password: secret",
    "password: <password>",
    "password: your-token-here",
    "DB_PASSWORD=changeme",
    "PASSWORD=supersecret",
    "POSTGRES_PASSWORD=mysecretpassword",
    "DB_PASSWORD=yourStrongPassword",
    "password: db_password",
    "password = new_password2",
    "password1 = password2",
    "password: examplePassword1",
    "password=dummy123",
    "password: fake-password-1",
    "password: not-set",
    "password: replace-with-a-real-one-2",
    "client_secret=oauth2_client_secret",
    "token: k8s_service_token_2",
    "api_key = stripe_secret_key_2",
    "secret: s3_secret_access_key",
    "Authorization: Bearer accessTokenFromLogin",
    "postgres://user:supersecret@localhost/app",
)


@pytest.mark.parametrize("text", HOLDING_A_PLACEHOLDER)
def test_a_password_may_contain_a_placeholder(text: str) -> None:
    assert looks_sensitive(text) is not None


@pytest.mark.parametrize("text", PLACEHOLDERS)
def test_whole_placeholders_and_names_are_no_secrets(text: str) -> None:
    assert looks_sensitive(text) is None


@pytest.mark.parametrize(
    ("before", "secret", "after", "kind"),
    [
        ("use ", "gh" + "p_" + some(36), " to clone", "GitHub token"),
        ("password = '", "Tr0ub4dor&3", "'", "password"),
        ("postgres://app:", "Blue-Fox-42", "@db.internal/app", "password in an address"),
        ("Authorization: Bearer ", some(32), "\nAccept: */*", "bearer token"),
        ("key rk", "_" + some(43), ".", "Recollect key"),
        ("Server=db;Pwd=", "swordfish", ";", "password in a connection string"),
        ('"auth": "', "YWRtaW46aHVudGVyMg==", '"', "basic credentials"),
    ],
)
def test_the_span_is_the_secret(before: str, secret: str, after: str, kind: str) -> None:
    text = before + secret + after
    (found,) = find_secrets(text)
    assert found.kind == kind
    # A token's prefix is part of the token.
    assert text[found.start : found.end].endswith(secret)
    assert found.end == len(before + secret)


def test_a_private_key_is_one_secret_to_its_last_line() -> None:
    text = POSITIVES[0]
    (found,) = find_secrets(text)
    assert found.span == (0, len(text))


def test_each_of_several_secrets_is_found_in_order() -> None:
    first, second = "gh" + "p_" + some(36), "hf" + "_" + some(34)
    found = find_secrets(f"password: hunter2, then {first} and {second}")
    assert [secret.kind for secret in found] == ["password", "GitHub token", "Hugging Face token"]


@pytest.mark.parametrize("before", ["api_key=", "api_key=v7:"])
def test_an_assigned_token_is_reported_once_by_its_surer_kind(before: str) -> None:
    (found,) = find_secrets(before + "gh" + "p_" + some(36))
    assert found.kind == "GitHub token"


def test_a_finding_does_not_hold_the_secret() -> None:
    secret = "gh" + "p_" + some(36)
    assert secret not in repr(find_secrets(f"use {secret}"))


def test_below_the_line_a_finding_is_reported_but_not_sensitive() -> None:
    (found,) = find_secrets("password: letmein")
    assert found.confidence < SENSITIVE_CONFIDENCE
    assert looks_sensitive("password: letmein") is None


@given(any_text)
def test_no_text_raises_and_spans_lie_inside_it(text: str) -> None:
    check_spans(text, find_secrets(text))


PIECES = (
    *("password", "token", "api_key", "=", ": ", '"', "'", "://", "a:b@", "sk-", "eyJ", ".", "rk_"),
    *("Bearer ", "Authorization: Basic ", "-----BEGIN PRIVATE KEY-----", "x1Y2z3", " ", "\n"),
    *("door code ", "4821", "user ann ", "login is ", " / ", "root on ", "wifi ", "blue-cat-7"),
    *(":5432:", "*:", "machine a login a "),
)


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_spans_lie_inside_and_apart_in_texts_made_of_the_forms(text: str) -> None:
    check_spans(text, find_secrets(text))


def check_spans(text: str, found: tuple[Secret, ...]) -> None:
    for secret in found:
        assert 0 <= secret.start < secret.end <= len(text)
        assert 0 < secret.confidence <= 1
    assert all(one.end <= other.start for one, other in pairwise(found))


HOSTILE = (
    "a",
    "a.",
    "a:",
    "a-",
    "eyJ",
    "eyJa.",
    "eyJaaaaaaaaaaa.eyJaaaaaaaaaaa.",
    "sk-",
    "sk-ant-",
    "rk_",
    "AKIA",
    "a://",
    "a://a:",
    "a://a:a@",
    "password",
    "password=",
    "password is ",
    "password a ",
    "password: '",
    "--password ",
    "secret_key=",
    "token: ",
    "curl ",
    "curl -u a:",
    "login a password ",
    "Bearer ",
    "authorization: basic ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN RSA ",
    "PuTTY-User-Key-File-2 ",
    "token is ",
    "password for a ",
    "password:\n",
    "A_PASSWORD=",
    "mysql -",
    "docker login ",
    "authorization: ",
    "?sig=",
    "AccountKey=",
    "12345678:AA",
    "aaa8Q~",
    "PASSWORD=",
    "A_PASS",
    "host=a ",
    "host=a;",
    "host=host=",
    "host=a;a=a;a=a;a=a;",
    "password=a user=a ",
    "password=a;",
    "password=a ",
    "user='a',",
    "user='a', a='a', ",
    "a://a:a/",
    "a://a:/a",
    "Authorization: Bearer a",
    "---- BEGIN SSH2 PRIVATE KEY ----",
    "-----BEGIN PRIVATE KEY-----\naaaaaaaa\n",
    '"kty":"EC"',
    '"d":"aaaaaaaaaaaaaaaaaaaa"',
    '"auth":"',
    "_auth=",
    "AA11 AAAA ",
    "AA11AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAx ",
    "PIN is ",
    "my pin of a ",
    "door code ",
    "door code of the a ",
    "code for a ",
    "code of door ",
    "door a opens ",
    "unlock a phone ",
    "type 1111 to ",
    "code 1111 for a ",
    "暗証番号",
    "4539148803436467 09/28 ",
    "4539 1488 0343 6467 09/",
    "password for a is ",
    "password is a ",
    "password: a-",
    "password:a-a-a-",
    "wifi password: a ",
    "clave a ",
    "user a ",
    "user a password ",
    "user a, pw: ",
    "login is a / ",
    "login: a:",
    "root on a ",
    "root on a: ",
    "root / ",
    "@a.a",
    "@a.a / ",
    "machine a login a ",
    "machine a\nlogin a\npassword ",
    "a:1111:a:a:",
    "*:*:",
    "JWT_SECRET=",
    "A_SECRET=a1-",
    "card 1",
    "1 ",
    "1-",
    "4539 1488 ",
    "ssn ",
    "aws ",
    "secret key a ",
    "user a pass ",
    "passwort a ist ",
    "password is '",
    "wifi password a ",
    "orbit ",
    "seed orbit ",
    "orbit orbit orbit orbit orbit orbit orbit orbit orbit orbit orbit orbit the ",
    "e\u0301",
    "a\u200b",
    "\uff50",
    "\t",
    "\u2028",
    "é",
)


@pytest.mark.parametrize("piece", sample(HOSTILE, 20))
def test_a_hostile_text_takes_no_longer_than_any_other(piece: str) -> None:
    """Twenty kilobytes of the same beginning, repeated. It takes a few tenths of a second of
    processor time; quadratic work would take many seconds.
    """
    text = piece * (20_000 // len(piece))
    started = time.process_time()
    find_secrets(text)
    assert time.process_time() - started < 3
