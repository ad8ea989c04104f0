"""Secrets as people mention them, in sentences, numbers and other languages, and look-alikes.

The secrets are assembled here, so that no scanner of repositories takes one for real.
"""

from __future__ import annotations

import pytest
from tests.core.privacy.secret_samples import some

from recollect.core.privacy.secrets.detect import find_secrets, looks_sensitive

_BASE64 = "abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789/+"
_AWS = some(40, _BASE64)
_TOKEN = "gh" + "p_" + some(36)
_WORD = "Blue" + "7Fox!"
_HORSE = "Blue4" + "Horse"
_SEED = "ladder museum orbit velvet cactus harbor lemon pistol ribbon saddle tunnel walnut"
_SEED_24 = (
    "animal bridge candy daring eagle fabric gadget hammer island jacket kitten lemon "
    "marble napkin ocean pepper quarter rabbit salmon tiger umbrella velvet window zebra"
)


def _split(text: str, by: str) -> str:
    return text[:9] + by + text[9:20] + by + text[20:]


def _wide(text: str) -> str:
    return "".join(
        chr(ord(character) + 0xFEE0) if "!" <= character <= "~" else character for character in text
    )


SECRETS: tuple[str, ...] = (
    f"The AWS secret access key for the deploy user is {_AWS}",
    f"aws secret {_AWS} belongs to the backup account",
    f"For S3 use the secret key {_AWS}, region eu-west-1",
    f"Amazon gave me this: {_AWS}",
    f"grafana login is admin, pass {_WORD}",
    f"user bob / pass {_WORD}",
    f"ssh in as deploy, pass {_WORD}",
    "router: user admin pass hunter2xyz9",
    'The Wi-Fi password is "correct horse battery staple"',
    "Wi-Fi at the office: network Kestrel, password 'sunflower-fields'",
    "Guest network password: \u201cwillkommen zuhause\u201d",
    "WLAN-Passwort im B\u00fcro: \u201ePfefferminztee\u201c",
    "the password for the guest wifi is 'bluebird morning'",
    'the admin password is "sommerregen"',
    "Das Passwort lautet Sommerregen",
    f"das Passwort f\u00fcr den Server ist {_WORD}",
    f"Mein Kennwort ist jetzt {_WORD}",
    "Das Passwort f\u00fcr die Datenbank lautet: winterfell9",
    f"Der WLAN-Schl\u00fcssel ist {_WORD}",
    f"la contrase\u00f1a es {_WORD}",
    f"La contrase\u00f1a del router es {_WORD}",
    f"la contrasen\u0303a del wifi es {_WORD}",
    f"la clave del servidor es {_WORD}",
    f"a senha do banco \u00e9 {_WORD}",
    f"le mot de passe est {_WORD}",
    f"het wachtwoord is {_WORD}",
    "My PIN is 4711",
    "the PIN of my debit card is 8302",
    "PIN: 9274",
    "SIM PIN 4410, PUK 83920174",
    "her pin is 5581",
    "Meine PIN lautet 7719",
    "mi PIN es 6043",
    "the door code is 4482#",
    "alarm code: 90210",
    "garage code is now 7741",
    "phone passcode is 294817",
    "the safe combination is 17-42-08-33",
    "my Visa is 4539 1488 0343 6467, CVV 123",
    "card 4539148803436467 exp 09/28 cvc 737",
    "Mastercard 5425-2334-3010-9903",
    "amex 3742 454554 00126 cid 7373",
    "the CVV is 482",
    "IBAN DE89 3704 0044 0532 0130 00",
    "please pay to GB82WEST12345698765432 by Friday",
    "FR14 2004 1010 0505 0001 3M02 606 is the landlord's account",
    "my SSN is 536-22-8841",
    "social security number: 536 22 8841",
    "he wrote 421-38-9917 on the form",
    f"my seed phrase is {_SEED}",
    f"wallet recovery words: {_SEED}",
    _SEED,
    _SEED_24,
    "mnemonic\n" + "\n".join(f"{n}. {word}" for n, word in enumerate(_SEED.split(), 1)),
    "the bot uses " + _split(_TOKEN, "\u200b"),
    "the bot uses " + _split(_TOKEN, "\u2060"),
    "the bot uses " + _split(_TOKEN, "\u00ad"),
    "the bot uses " + _wide(_TOKEN),
    "pass\u200bword: " + _WORD,
    _wide("password: ") + _wide(_WORD),
    "pass is hunter2" + "correct",
    f"router pass: {_HORSE}",
    f"the pass for the router is {_HORSE}",
    f"the password to the vault is {_HORSE}",
    "the root password for db is s3cr3t" + "-horse",
    "the passphrase is correct horse battery staple",
    "the backup passphrase for the laptop: velvet harbor lemon walnut",
    f"the passphrase is {_HORSE}",
    f"my passphrase for the key is now {_HORSE}",
    "pin code for the safe: 9931",
    "PIN: 4 7 1 1",
    "the PIN is 4 7 1 1",
    f"p\u0430ssword: {_WORD}",
    f"the passw\u03bfrd is {_WORD}",
    f"\u0440assword: {_WORD}",
    f"\u043f\u0430\u0440\u043e\u043b\u044c: {_WORD}",
)

LOOK_ALIKES: tuple[str, ...] = (
    "our password manager is 1Password",
    "The password manager is Bitwarden, the vault is named Team2",
    "the password policy is NIST-800-63B",
    "password reset is handled by Auth0",
    "password hashing was moved to Argon2id",
    'the password field shows "required"',
    'it says the password is "too short"',
    "Das Passwort ist abgelaufen und muss erneuert werden",
    "das Passwort ist im Tresor hinterlegt",
    "la contrase\u00f1a es obligatoria",
    "la clave es escuchar al cliente",
    "la clave del \u00e9xito es la constancia",
    "le mot de passe est obligatoire",
    "all 412 tests pass on Python3.12",
    "pass param1 and param2 to the function",
    "pass UserId2 as the first argument",
    "the boarding pass B42 is in the app",
    "we pass HTTP2 traffic through",
    "renew the passport 12 weeks before June 2027",
    "passport number is on page 2 of the scan",
    "solder the 2x20 PIN header on the board",
    "PIN 13 drives the LED, PIN 4 is ground",
    "pin numpy to 1264 until the fix is out",
    "pin the image to 20260315",
    "the PIN pad of the terminal is broken",
    "pinned 4711 commits behind main",
    "the PIN is required after 3 failures",
    "the PIN policy changed in 2024",
    "Bob's extension is 4711",
    "the service listens on port 8420, metrics on 9090",
    "order number 4539-2210-77 was shipped",
    "order 2026031512345678 is late",
    "invoice 4012345678901234 was paid",
    "tracking number 9400 1118 9956 0312 4478 21",
    "ISBN 978-3-16-148410-0 is the German edition",
    "call +49 30 1234567 or 555-867-5309",
    "phone: (415) 555-2671 ext 42",
    "git SHA 9fceb02d0ae598e95dc970b74767f19372d61af8 broke AWS deploys",
    "the AWS commit is 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "sha1 of the aws-cli zip: da39a3ee5e6b4b0d3255bfef95601890afd80709",
    "request 550e8400-e29b-41d4-a716-446655440000 timed out",
    "session 019cc2a7-4b59-7d3a-9a55-2f0e6b7c8d9f was resumed",
    "the md5 d41d8cd98f00b204e9800998ecf8427e is that of an empty file",
    "version 4.18.0-rc.2 replaces 4.17.12",
    "released 2026-03-15 14:32:07, build 20260315.1432",
    "IBAN validation uses mod 97; DE00 0000 0000 0000 0000 00 must fail",
    "GB29 is a plate, AB12 3CD another",
    "use test card 4242 4242 4242 4242 with any CVC",
    "the CVV field takes 3 or 4 digits",
    "part 123-4567-89 fits the older model",
    "coordinates 52.5200-13.4050, zip 10117",
    "the SSN column is encrypted at rest",
    "seed the database with 12 users before the demo",
    "the random seed is 20262026",
    "recovery takes about twelve minutes if the wallet service is down and nobody restarts it",
    "we chose postgres redis kafka and docker for the new stack because the team knows them well",
    "apple, pear, plum, fig, kiwi, lime and mango are on the list",
    "door 4482 is the server room",
    "the alarm code path is tested in 2024 builds",
    "the exit code is 1370 lines into the log",
    "error code: 40001 means serialization failure",
    "status code is 5000 in the legacy API",
    "the zip code is 90210",
    "country code: 0049",
    "Wi-Fi drops every 30 minutes on the 'guest' network",
    "the Wi-Fi password changed to WPA3-Enterprise",
    "the emoji \U0001f468\u200d\U0001f469\u200d\U0001f467 renders as one family",
    "\uff30\uff32\uff33 \uff11\uff12\uff13 is full-width",
    "the token bucket holds 5000 tokens",
    "MAC 3c:22:fb:9a:01:7e has the lease 10.0.0.17",
    "Ticket 123-45-6789 is closed",
    "Ticket 421-38-9917 is closed",
    "order no. 421-38-9917 was shipped on Monday",
    "the pass over the mountain is closed",
    "pass the salt",
    "hall pass: ask Ana",
    "the first pass is done, the second pass: Python3 only",
    "the boarding pass for LH2024 is gate4west",
    "the pass to the summit is Route66",
    "all tests pass: Ubuntu24 and macOS15",
    "a test pass is required",
    "passphrase length is 20 characters",
    "the passphrase is stored somewhere safe today",
    "the passphrase is never written down anywhere",
    "the passphrase is long enough for everyone here",
    "the passphrase is optional when the agent runs",
    "PIN 7 of the connector is ground",
    "PIN 1 2 3 4 are inputs",
    "the pin code field takes 4 digits",
    "the password for the demo is shown on the start page",
    "the password to the vault is rotated every 90 days",
    "\u041f\u0430\u0440\u043e\u043b\u044c \u0438\u0441\u0442\u0435\u043a",
)


def test_secrets_are_found_and_look_alikes_are_not() -> None:
    missed = [text for text in SECRETS if looks_sensitive(text) is None]
    alarms = [(text, looks_sensitive(text)) for text in LOOK_ALIKES if looks_sensitive(text)]
    summary = (
        f"{len(SECRETS) - len(missed)} of {len(SECRETS)} secrets found, "
        f"{len(alarms)} false alarms in {len(LOOK_ALIKES)} look-alikes"
    )
    assert len(SECRETS) >= 45
    assert len(LOOK_ALIKES) >= 50
    assert not missed, f"{summary}; missed: {missed}"
    assert len(alarms) * 50 <= len(LOOK_ALIKES), f"{summary}; false alarms: {alarms}"


@pytest.mark.parametrize("by", ["\u200b", "\u2060", "\u00ad"])
def test_the_span_is_that_of_the_text_as_it_was_written(by: str) -> None:
    token = _split(_TOKEN, by)
    (found,) = find_secrets(f"\u00fcber {token} gut")
    assert f"\u00fcber {token} gut"[found.start : found.end] == token
