"""Made-up credentials; `innocent_samples` has harmless texts.

The credentials are assembled when the tests run, from pieces and from a seeded generator, so that
no scanner of repositories takes one for real.
"""

from __future__ import annotations

import base64
import json
import random
import string

_random = random.Random(20_26)
_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_URL = _ALNUM + "_-"


def some(length: int, alphabet: str = _ALNUM) -> str:
    """Return random text with a small letter, a capital (where there are any) and a digit."""
    needed = [
        part[0]
        for part in (
            [letter for letter in alphabet if letter.islower()],
            [letter for letter in alphabet if letter.isupper()],
            [letter for letter in alphabet if letter.isdigit()],
        )
        if part
    ]
    letters = needed + _random.choices(alphabet, k=length - len(needed))
    _random.shuffle(letters)
    return "".join(letters)


def _pem(kind: str) -> str:
    body = "\n".join(some(64, _ALNUM + "+/") for _ in range(5))
    return f"-----BEGIN {kind}PRIVATE " + f"KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def _encode(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _jwt() -> str:
    header = _encode({"alg": "HS256", "typ": "JWT"})
    return ".".join([header, _encode({"sub": "42", "name": "Ann"}), some(43, _URL)])


def jwk(*members: str) -> str:
    """Return a key as JSON, with these members in their order; `d` is the private one."""
    kinds = {"kty": "EC", "crv": "P-256"}
    return json.dumps({name: kinds.get(name, some(43, _URL)) for name in members})


def lines(length: int, of: str = "EC ") -> str:
    """Wrap a private key anew."""
    body = "\n".join(some(length) for _ in range(6))
    return f"-----BEGIN {of}PRIVATE " + f"KEY-----\n{body}"


_BASIC = base64.b64encode(b"ann:Tr0ub4dor&3").decode()
_PEM_ONE_LINE = _pem("").replace("\n", "\\n")
_WORD = "sword" + "fish"  # what a person chooses

POSITIVES: tuple[str, ...] = (
    _pem("RSA "),
    _pem("EC "),
    _pem("OPENSSH "),
    _pem(""),
    _pem("ENCRYPTED "),
    "the deploy key is\n" + _pem("OPENSSH ") + "\nkeep it",
    _pem("RSA ").replace(
        "KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128\n\n", 1
    ),
    json.dumps({"type": "service_account", "private_key_id": some(40, _HEX)}),
    f'{{"type": "service_account", "private_key": "{_PEM_ONE_LINE}"}}',
    "AGE-SECRET-" + "KEY-1" + some(58, string.ascii_uppercase + string.digits),
    "AK" + "IA" + some(16, string.ascii_uppercase + "234567"),
    "our id is AS" + "IA" + some(16, string.ascii_uppercase + "234567") + " for now",
    "AWS_SECRET_ACCESS_KEY=" + some(40, _ALNUM + "/+"),
    "aws_secret_access_key = " + some(40, _ALNUM + "/+"),
    "AI" + "za" + some(35, _URL),
    "GOC" + "SPX-" + some(28, _URL),
    "ya" + "29." + some(60, _URL),
    "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=" + some(86) + "==;EndpointSuffix=x",
    "Endpoint=sb://x.net/;SharedAccessKeyName=Root;SharedAccessKey=" + some(43) + "=",
    "https://acc.blob.core.windows.net/c?sv=2024-01-01&se=2030-01-01&sig=" + some(43) + "%3D",
    some(3) + "8" + "Q~" + some(34),
    "gh" + "p_" + some(36),
    "gh" + "o_" + some(36),
    "gh" + "s_" + some(36),
    "export GITHUB_TOKEN=gh" + "u_" + some(36),
    "github_" + "pat_" + some(22) + "_" + some(59),
    "the runner uses gl" + "pat-" + some(20, _URL) + " to clone",
    "gl" + "rt-" + some(20, _URL),
    "xo" + "xb-" + "123456789012-1234567890123-" + some(24),
    "xo" + "xp-" + "2345678901-2345678901-2345678901-" + some(32, _HEX),
    "xa" + "pp-1-A01234567-1234567890-" + some(40, _HEX),
    "https://hooks.slack" + ".com/services/T0123ABCD/B0123ABCD/" + some(24),
    "sk_" + "live_" + some(24),
    "rk_" + "live_" + some(24),
    "sk_" + "test_" + some(24),
    "wh" + "sec_" + some(32),
    "sk-" + "proj-" + some(48, _URL),
    "sk-" + some(48),
    "OPENAI_API_KEY=sk-" + some(48),
    "sk-" + "ant-api03-" + some(80, _URL),
    "hf" + "_" + some(34),
    "VOYAGE_API_KEY=pa" + "-" + some(43, _URL),
    "np" + "m_" + some(36),
    "py" + "pi-AgEIcHlwaS5vcmc" + some(80, _URL),
    "do" + "p_v1_" + some(64, _HEX),
    "S" + "G." + some(22, _URL) + "." + some(43, _URL),
    "the bot is 123456789:" + "AA" + some(33, _URL),
    "hv" + "s." + some(24),
    "rk" + "_" + some(43, _URL),
    "connect with the key rk" + "_" + some(43, _URL) + " please",
    _jwt(),
    "Cookie: session=" + _jwt(),
    "postgres://app:" + some(16) + "@db.internal:5432/app",
    "DATABASE_URL=postgresql+psycopg://app:" + "s3cr-Pw!9" + "@10.1.2.3/app",
    "redis://:" + some(20) + "@cache.internal:6379/0",
    "mongodb+srv://ann:" + "Winter-Fox-42" + "@cluster0.abc.mongodb.net/x",
    "amqp://svc:" + "p4ssphrase9" + "@mq:5672/vhost",
    "git clone https://ann:" + some(20) + "@git.internal/x.git",
    "Authorization: Bearer " + some(40, _URL),
    "curl -H 'Authorization: Bearer " + some(32) + "' https://api.internal/v1/users",
    "Authorization: Basic " + _BASIC,
    "curl -u ann:" + "Tr0ub4dor3 https://api.internal",
    "password: " + "hunter2",
    "password = '" + "Tr0ub4dor&3" + "'",
    '"password": "' + "gX7!pq0z" + '"',
    "DB_PASSWORD=" + some(12),
    "SMTP_PASS=" + some(16),
    "spring.datasource.password=" + "Blue7Fox!",
    "Server=db;Database=x;User Id=sa;Password=" + "Str0ngP@ss;",
    "the admin password is " + "Blue-Fox-42!",
    "I changed the wifi password to " + "Sunny-Day-2026!" + " yesterday",
    "passphrase: '" + "9-Lives-of-Cats" + "'",
    "pw for grafana = admin, pw: " + "Sunflower99",
    "Passwort: " + "Geheim-123!",
    "sshpass -p '" + "S3a-gull" + "' ssh ann@host",
    "stringData:\n  password: " + "s3cr3t-9",
    "machine api.internal login ann password " + some(14),
    "mysqldump --password=" + some(10) + " app > app.sql",
    "SECRET_KEY = '" + some(50, _ALNUM + "!@#%^&*") + "'",
    "api_key: " + some(32, _HEX),
    "X-Api-Key: " + some(40),
    "client_secret=" + some(32, _URL),
    'const apiKey = "' + some(24) + '"',
    "deploy --token " + some(30),
    "JWT_SECRET=" + some(32, _HEX),
    "encryption_key: " + some(44, _ALNUM + "+/"),
    "The API key: `" + some(32) + "`",
    "API_KEY=" + "3f2504e0-4f89-" + "41d3-9a0c-0305e82c3301",
    "auth_token: '" + some(20) + "'",
    lines(24),
    lines(31, "RSA "),
    "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: ann@laptop\n"
    + some(70)
    + "\n"
    + some(70),
    jwk("kty", "crv", "x", "y", "d"),
    jwk("crv", "d", "kty", "x", "y"),
    json.dumps({"keys": jwk("kty", "crv", "x", "d")}),
    "PASSWORD=" + _WORD,
    "set PASSWORD=" + _WORD + ", then start it",
    "DB_PASS=" + _WORD,
    "MYSQL_PWD=" + _WORD + " mysqldump app",
    "host=db user=app password=" + _WORD,
    "(host=db user=app password=" + _WORD + ")",
    "host=a,b dbname=x user=app password='" + _WORD + "' sslmode=require",
    "password=" + _WORD + " host=db user=app",
    "[client]\nuser = app\npassword = " + _WORD,
    "Server=db;Uid=sa;Pwd=" + _WORD + ";",
    "Server=tcp:db,1433;Initial Catalog=my app;User ID=sa;Password=" + _WORD + ";Encrypt=True",
    "Password=" + _WORD + ";Server=db;User Id=sa",
    "jdbc:postgresql://db/app?user=app&password=" + _WORD,
    "spring.datasource.username=app\nspring.datasource.password=" + _WORD,
    'connect(host="db", port=5432, user="app", password="' + _WORD + '")',
    "'USER': 'app',\n    'PASSWORD': '" + _WORD + "',",
    "postgres://app:pa/ss" + "1word@db",
    "postgres://app:pa/ss" + "1word@db/app",
    "Authorization: Bearer " + "abcdefGHIJKL" + "mnopQRSTuvwx",
    "Authorization: Bearer " + "kwzjvhqpxtmb" + "rdlfgcsnyeoa",
    "Authorization: Bearer " + "a1b2c3" + "d4e5f6",
    "headers = {'Authorization': 'token " + "a1b2c3" + "d4e5f6'}",
    '{"auths": {"registry.internal": {"auth": "' + _BASIC + '"}}}',
    "//registry.internal/:_auth=" + _BASIC,
    # Cards with their date
    "4539 1488 0343 " + "6467 04/29 Lena Maurer",
    "Kreditkarte 54252334" + "30109903 11/27",
    "374245" + "455400126 12/2029",
    "la tarjeta 5425 2334 " + "3010 9903 08/27, a nombre de Pablo",
    # Codes of doors, alarms, gates and lockers
    "gate code " + "3381",
    "garage door code " + "9027#, then Enter",
    "the code for the bike shed is " + "6620",
    "The code to the storage room is now " + "4417",
    "alarm code at the cabin " + "8052",
    "Type " + "6604 to disarm the alarm",
    "locker combination " + "36-14-22",
    "code of the key box: " + "2298",
    "Der Code für die Haustür ist " + "5583",
    "Alarmanlage: Code " + "6071",
    "le code du portail est " + "35B79",
    "le digicode de l'agence, c'est " + "B2607",
    "el código de la puerta es " + "6613",
    "código de la alarma: " + "9184",
    "il codice del cancello è " + "4420",
    "玄関の暗証番号は" + "5823です",
    # What unlocks a device
    "unlock the tablet with " + "804213",
    "my iPad unlocks with " + "5930",
    "Handy entsperren mit " + "913402",
    "para desbloquear el móvil: " + "604418",
    "the laptop's unlock PIN: " + "40172",
    "le téléphone se déverrouille avec " + "382150",
    # Passwords of plain words
    "password for the NAS is " + "paper-lanterns",
    "the password of the printer is " + "green umbrella tuesday",
    "The hotspot password is: " + "old river stones",
    "Wifi password: " + "three sleepy otters",
    "Das WLAN-Passwort ist: " + "kleine graue Maus 3",
    "Das Passwort fürs Gäste-WLAN lautet " + "Regen im Mai",
    "le mot de passe du wifi est : " + "citron vert 12",
    "mot de passe wifi : " + "lune-et-soleil",
    "la contraseña del wifi es " + "gato-negro-lento",
    "la clave del wifi: " + "playa azul 22",
    "la password del wifi è " + "mare-calmo-9",
    "password to the shared drive is " + "teapot-harbour-nine",
    # A user and a password
    "Benutzer jonas, Kennwort " + "Eiche4-Nebel",
    "usuario pablo, contraseña " + "Nube3-Roja",
    "user tomas password " + "Birke9-Fluss",
    "username deploy, password " + "lantern-moss-44",
    "identifiant claire, mot de passe " + "Tilleul5-Bleu",
    "log in to the wiki as frank with password " + "quiet-Harbour6",
    "NAS login is backup / " + "Hk4?mWz9",
    "grafana credentials: viewer / " + "Rq8!tvLs",
    "printer web login: admin/" + "Vb6#xkTe",
    "Zugang zum Router: admin / " + "Gm3!qPzu",
    "the login for the camera is admin:" + "Pf9$wLk1",
    "accès au NAS : admin / " + "Tz5!bnQw",
    "root on the mail server: " + "pelican-T42w",
    "admin on the old switch: " + "coral-7Kfz",
    "db.internal:5432:app:app_user:" + "lavender-77-kite",
    "localhost:5433:*:reporting:" + "Owl9branch",
    "machine git.internal\n  login ann\n  password " + "lantern-moss-44",
    "machine api.internal login ci password " + "plum-orchard-12",
    # Keys that a person made up
    "SESSION_SECRET=" + "maple-river-08t",
    "export COOKIE_SECRET='" + "blue-kettle-x19'",
    'WEBHOOK_TOKEN="' + 'otter-lane-55q"',
    "SIGNING_KEY=" + "plum7-orchard",
    # Chosen secrets in more languages, orders and forms
    "La contraseña del wifi es " + "perrito azul 9",
    "la clave del wifi es " + "luna grande 42",
    "La contraseña de mi portátil es " + "mandarina",
    "A senha do wifi é " + "casa amarela 5",
    "A senha do computador é " + "girassol88",
    "A senha do roteador é " + "abacaxi",
    "La password del wifi è " + "cane rosso 3",
    "La password del computer è " + "girasole",
    "Пароль от wifi " + "красныйдом9",
    "Пароль от вайфая " + "зеленыйкот3",
    "Пароль от ноутбука: " + "ромашка",
    "пароль от роутера — " + "березка",
    "パスワードは " + "tanuki-2031 です",
    "Wi-Fiのパスワードは " + "yuki-88 です",
    "Benutzername lena, Kennwort " + "Wolke71",
    "Nutzer jan, Passwort " + "Hafen28",
    "user eva and password " + "Stone48",
    "login mark with the password " + "Cedar19",
    "identifiant paul, mot de passe " + "soleil44",
    "utilisateur marie, mot de passe " + "Lavande9",
    "usuario diego, contraseña " + "Playa66",
    "usuario: rosa contraseña: " + "Nieve31",
    "utente marco, password " + "Fiume27",
    "usuário ana, senha " + "Praia53",
    "password " + "Birch72 for user olaf",
    "Kennwort " + "Ufer38 für Benutzer ines",
    "логин ivan, пароль " + "Sosna55",
    "логин: petr, пароль: " + "Reka81",
    "the password of the tablet is " + "marzipan",
    "the password for my old laptop is " + "gingerbread",
    "sudo password on the server: " + "dandelion",
    "root password on the build box: " + "pumpernickel",
    "login password for the desktop: " + "marmalade",
    "password of the NAS: " + "butterscotch",
    "DJANGO_SECRET=" + "mw72harbor55q",
    "RAILS_SECRET=" + "tb41meadow80z",
    '"MASTER_KEY": "' + 'purple-train-62"',
    '"SIGNING_KEY": "' + 'silver-cloud-19"',
    'PASSWORD_SALT="' + 'maple-brook-21"',
    "HASH_PEPPER='" + "cedar-lake-37'",
    "spring.mail.password=" + "lilac-storm",
    "app.datasource.password: " + "copper-field",
    "encryption.key = " + "walnut-harbor-83",
    "jwt.secret=" + "plum-valley-29",
    "recovery code: " + "7H3M-91PX-2KDV",
    "my recovery codes: " + "8KQ2-MM41 and 3PLX-77TD",
    "backup codes " + "4821-9930 1147-2086",
    "GitHub backup code: " + "7f31a-90bc2",
    "the safe code: " + "14-37-5",
    "safe combination " + "8-31-17",
    "bike lock " + "7352",
    "gym locker 31, code " + "6204",
    "Locker 8 code: " + "3377",
    "код домофона " + "27В45",
    "Код от подъезда " + "6138",
    "console: admin/" + "Qm4!xRt8",
    "Wi-Fi: CasaLopez / " + "margarita58",
)
