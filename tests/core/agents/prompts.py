"""Prompts with and without pasted parts, and what must be captured of each."""

from __future__ import annotations

from typing import Final

PASTED: Final[list[tuple[str, list[str]]]] = [
    (
        (
            "From: Tom Weber <tom@example.com>\nTo: team@example.com\nSubject: Deploys\n"
            "Date: Mon, 4 May 2026 10:12:00 +0200\n\nHi all,\n\n"
            "please remember that deploys stop on Fridays. Never push to the release branch.\n"
            "\nBest regards,\nTom\n\nSummarize the mail."
        ),
        [],
    ),
    (
        (
            "I prefer short summaries of mails. Here is one:\n\nVon: Anna Schmidt\n"
            "An: Entwicklung\nBetreff: Freigabe\n\nHallo zusammen,\nmerkt euch das bitte.\n"
            "Ab jetzt nur noch pnpm im Frontend verwenden.\n\nViele Grüße\nAnna"
        ),
        ["I prefer short summaries of mails."],
    ),
    (
        (
            "What does she want?\n\n-----Original Message-----\nFrom: Carla Ruiz\n"
            "Sent: Tuesday, May 5, 2026 9:14 AM\nTo: Dev\nSubject: RE: Cache\n\n"
            "We decided to use Redis for the session cache.\n\nAlways set a timeout on keys."
        ),
        [],
    ),
    (
        (
            "<document>\nNever store passwords in plain text.\n\n"
            "Remember that audits happen yearly.\n</document>\n\n"
            "From now on, answer in French."
        ),
        ["Answer in French."],
    ),
    (
        (
            "Here is the output:\n\tRemember that the cache is cold after a restart.\n"
            "\tAlways warm the cache first.\nI prefer warm caches in tests."
        ),
        ["I prefer warm caches in tests."],
    ),
    (
        (
            "> We decided to use Postgres for the audit log.\n> Never use MySQL again.\n\n"
            "I prefer SQLite for the audit log."
        ),
        ["I prefer SQLite for the audit log."],
    ),
    (
        (
            "Why does this fail?\nTraceback (most recent call last):\n"
            '  File "app/run.py", line 12, in <module>\n    start()\n'
            '  File "app/core.py", line 40, in start\n    raise RuntimeError(message)\n'
            "RuntimeError: The loop is closed. Never call run twice in one process.\n"
            "Always show me the cause before the fix."
        ),
        ["Always show me the cause before the fix."],
    ),
    (
        (
            "diff --git a/RULES.md b/RULES.md\nindex 1f3a..9bc2 100644\n--- a/RULES.md\n"
            "+++ b/RULES.md\n@@ -1,3 +1,4 @@\n Never force-push shared branches.\n"
            "-Use npm. Always commit the lock file.\n"
            "+Use pnpm. Always commit the lock file.\n+Agreed. We decided to drop yarn.\n \n"
            "\nPlease review the patch. I prefer terse reviews."
        ),
        ["I prefer terse reviews."],
    ),
    (
        (
            "[10:32] tom: hi all\n[10:33] anna: ok. We decided to ship the beta on Monday.\n"
            "[10:35] tom: Great. Never ship on Fridays.\n\n"
            "Note that the beta is called Falcon."
        ),
        ["The beta is called Falcon."],
    ),
    (
        (
            "2026-05-04 10:12:44,120 INFO worker started. Always check the queue first.\n"
            "2026-05-04 10:12:45,003 WARN retrying. Never retry more than thrice.\n"
            "I want you to restart workers only at night."
        ),
        ["I want you to restart workers only at night."],
    ),
    (
        (
            "id,rule,owner\n1,Never deploy on Fridays. Always tag releases.,anna\n"
            "2,We prefer trunk builds. Never fork the repo.,tom\n\nTurn the list into YAML."
        ),
        [],
    ),
    (
        (
            "| Rule | Why |\n|---|---|\n| Use tabs. Never use spaces in makefiles. | make |\n"
            "\nI prefer tables without borders."
        ),
        ["I prefer tables without borders."],
    ),
    (
        (
            "```text\nRemember that the build host is called atlas.\n```\n"
            "We decided to rename atlas to zeus."
        ),
        ["We decided to rename atlas to zeus."],
    ),
    (
        (
            "User: Write a parser.\nAssistant: Sure. I always write tests before the code.\n"
            "\nWhy did it say so?"
        ),
        [],
    ),
    (
        (
            'Can you translate it?\n\n{\n  "title": "Rules",\n'
            '  "text": "Be brief. Never use passive voice in docs."\n}\n\n'
            "I prefer British spelling in docs."
        ),
        ["I prefer British spelling in docs."],
    ),
    (
        (
            '"""\nRemember that the contract ends in June.\nNever call the client directly.\n'
            '"""\nSummarize the text. Never add your own opinion to summaries.'
        ),
        ["Never add your own opinion to summaries."],
    ),
    (
        (
            "---------- Forwarded message ---------\nDe : Marie Curie <marie@example.fr>\n"
            "Objet : Serveurs\nÀ : équipe\n\nBonjour,\n\n"
            "Désormais, utilise pnpm pour le frontend.\n\nCordialement,\nMarie"
        ),
        [],
    ),
    (
        (
            "[04.05.26, 10:12:01] Anna: Moin\n[04.05.26, 10:13:22] Tom: Hi.\n"
            "Merke dir, dass die Datenbank auf Port 5433 läuft.\n"
            "[04.05.26, 10:14:00] Anna: Danke!\n\nWorum geht es?"
        ),
        [],
    ),
    (
        (
            "src/app.ts:14:3 - error TS2322: Type mismatch. Never assign a string here"
            " to a number.\n"
            "src/app.ts:20:1: note: remember that the types are strict. Always enable"
            " strict mode.\n\nFix the types."
        ),
        [],
    ),
    (
        (
            "public class Rules {\n  /**\n"
            "   Remember that instances are shared between threads.\n   */\n  void run() {\n"
            "  }\n}\n\nWhat does the class do?"
        ),
        [],
    ),
    (
        (
            "java.lang.IllegalStateException: Pool closed. Never close the pool in a request.\n"
            "\tat com.acme.Pool.get(Pool.java:41)\n\tat com.acme.App.main(App.java:12)\n"
            "Caused by: java.io.IOException: Gone. Always check the socket first.\n"
            "\t... 12 more"
        ),
        [],
    ),
    (
        (
            "<!--\nRemember that the header is generated.\nNever edit the header by hand.\n"
            "-->\nRemove the comment."
        ),
        [],
    ),
    (
        (
            "---\nFrom: Tom\nTo: Anna\nSubject: Plan\n\n"
            "We decided to move the office to Berlin.\n---\n\n"
            "Remember that our office moves in July."
        ),
        ["Our office moves in July."],
    ),
    (
        (
            "$ cat RULES\nNever push to the main branch.\nAlways squash commits.\n$\n\n"
            "Why does the file exist?"
        ),
        [],
    ),
    (
        (
            '<doc index="1">\nNever use eval in scripts.\n</doc>\nI prefer exec over eval.\n'
            '<DOC index="2">\n<p>Always lint scripts.\n</DOC>'
        ),
        ["I prefer exec over eval."],
    ),
    (
        (
            "Am Mo., 4. Mai 2026 um 10:12 Uhr schrieb Tom <tom@example.com>:\n"
            "> Künftig nur noch pnpm im Frontend verwenden.\n\n"
            "Merke dir, dass Tom im Urlaub ist."
        ),
        ["Tom ist im Urlaub."],
    ),
    (
        (
            "Tom: I prefer Go.\n\nAnna: No. We decided to use Rust for the agent.\n\n"
            "Tom: fine\n\nWhat did they decide?"
        ),
        [],
    ),
    (
        (
            "<document>Notes. Remember that the invoices live in the eu-west bucket. "
            "We decided to use Postgres.</document>\nI prefer short notes."
        ),
        ["I prefer short notes."],
    ),
    (
        "I prefer short notes.\n<document>\nNotes.\nWe decided to use Postgres.\nNever use MySQL.",
        ["I prefer short notes."],
    ),
    (
        "От: Анна Иванова\nКому: Команда\nТема: План\n\nWe decided to use Kafka for events.",
        [],
    ),
    (
        "Da: Marco Rossi\nA: Team\nOggetto: Piano\n\nWe decided to use Kafka for events.",
        [],
    ),
    (
        "De: Ana Souza\nPara: Equipe\nAssunto: Plano\n\nWe decided to use Kafka for events.",
        [],
    ),
    (
        "差出人: 山田太郎\n宛先：開発\n件名：計画\n\nWe decided to use Kafka for events.",
        [],
    ),
    (
        (
            "From: Tom <tom@example.com>\nReply-To: team@example.com\nX-Mailer: mutt\n"
            "Message-ID: <1@example.com>\nSubject: Plan\n\nWe decided to use Kafka for events."
        ),
        [],
    ),
    (
        "  From: Tom\n  To: Anna\n  Subject: Plan\n\nWe decided to use Kafka for events.",
        [],
    ),
    (
        "From: Tom\n\nTo: Anna\n\nSubject: Plan\n\nWe decided to use Kafka for events.",
        [],
    ),
    (
        (
            "On Mon, Nov 2, 2026 at 10:12 AM Tom Weber <tom@example.com>\nwrote:\n\n"
            "We decided to use Kafka for events."
        ),
        [],
    ),
    (
        (
            "пн, 2 нояб. 2026 г. в 10:12, Tom Weber <tom@example.com>:\n\n"
            "We decided to use Kafka for events."
        ),
        [],
    ),
    (
        (
            "Tom Weber <tom@example.com>\n to me\n\nNever call the client.\n"
            "We decided to use Kafka for events."
        ),
        [],
    ),
    (
        (
            "What did they agree on?\n\nAnn Lee  10:42 AM\nwe always skip the tests on Fridays\n"
            "never run them before lunch\n\nBob\n  10:43\nwe decided to drop the nightly build\n\n"
            "carla — Today at 10:44\nmy timezone is UTC\n\nI prefer short answers to questions."
        ),
        ["I prefer short answers to questions."],
    ),
]
STATED: Final[list[tuple[str, list[str]]]] = [
    (
        (
            "My rules:\n- Python\n    - Always use type hints.\n"
            "    - Never use wildcard imports.\n- Web\n  - Never use inline styles."
        ),
        ["Always use type hints.", "Never use wildcard imports.", "Never use inline styles."],
    ),
    (
        (
            "1. Git\n   * Never rewrite shared history.\n     - Always sign commits.\n"
            "2. Tests\n    * Always name tests after behaviour."
        ),
        [
            "Never rewrite shared history.",
            "Always sign commits.",
            "Always name tests after behaviour.",
        ],
    ),
    (
        ("Please note:\nSubject: to approval, I prefer the cheap plan. I prefer monthly billing."),
        ["I prefer monthly billing."],
    ),
    (
        ("Migrate the database.\nFrom: Postgres 14\nTo: Postgres 16\nNever touch the audit log."),
        ["Never touch the audit log."],
    ),
    (
        ("Tests: use pytest. Never mock the database.\nDeploys: use Helm. Always tag images."),
        ["Never mock the database.", "Always tag images."],
    ),
    (
        "Always return Optional<User> from lookups. Never use <b> in the docs.",
        ["Always return Optional‹User> from lookups.", "Never use ‹b> in the docs."],
    ),
    (
        "Never use <b>bold</b> or <i>italic</i> in the docs.",
        ["Never use ‹b>bold‹/b> or ‹i>italic‹/i> in the docs."],
    ),
    (
        "Remember that our standup is at 10:30.\nNever schedule deploys after 16:00.",
        ["Our standup is at 10:30.", "Never schedule deploys after 16:00."],
    ),
    (
        "Hi Claude,\n\nplease remember that the wiki moved to Notion.\n\nThanks,\nTom",
        ["The wiki moved to Notion."],
    ),
    (
        (
            "Never use commas, semicolons, or dashes in titles.\n"
            "Always use colons, brackets, or nothing in titles."
        ),
        [
            "Never use commas, semicolons, or dashes in titles.",
            "Always use colons, brackets, or nothing in titles.",
        ],
    ),
    (
        (
            "Fix the parser.\n\n---\n\nNever change the public API.\n\n---\n\n"
            "Always keep the tests green."
        ),
        ["Never change the public API.", "Always keep the tests green."],
    ),
    (
        ("- Never log secrets.\n\n  Always mask tokens in logs.\n\n- Always rotate keys yearly."),
        ["Never log secrets.", "Always mask tokens in logs.", "Always rotate keys yearly."],
    ),
    (
        "Always call `f(a,b,c)` with keywords.\nNever call `g(x,y,z)` from tests.",
        ["Always call `f(a,b,c)` with keywords.", "Never call `g(x,y,z)` from tests."],
    ),
    (
        "Remember that 5 > 3 holds in our config.\nNever compare floats with ==.",
        ["5 > 3 holds in our config.", "Never compare floats with ==."],
    ),
    (
        "Always put the opening brace on its own line:\n{\nNever use single-line blocks.",
        ["Always put the opening brace on its own line", "Never use single-line blocks."],
    ),
    (
        "2026-05-04: new rules. Never merge on Fridays.\nAlways merge before noon.",
        ["Never merge on Fridays.", "Always merge before noon."],
    ),
    (
        "Use pnpm | yarn | npm in that order. Never use bower.\nI prefer pnpm | yarn.",
        ["Never use bower.", "I prefer pnpm | yarn."],
    ),
    (
        (
            "Replace <name> with the real one.\nNever commit real names.\n"
            "Keep <name> in the samples."
        ),
        ["Never commit real names."],
    ),
    (
        "+1 for the plan. We decided to use Kafka.\n-1 for polling. I hate polling loops.",
        ["We decided to use Kafka.", "I hate polling loops."],
    ),
    ("Warning: prod is fragile. Always ask before deploys.", ["Always ask before deploys."]),
    ("On Mondays we plan. We decided to plan on Tuesdays.", ["We decided to plan on Tuesdays."]),
    (
        "Use <ul> for lists. Close lists with </ul>. Never use <ol> for lists.",
        ["Never use ‹ol> for lists."],
    ),
    (
        (
            "- Rules for Go\n\n    Never use panics in Go.\n\n- Rules for C\n"
            "    1. Always free memory in C."
        ),
        ["Never use panics in Go.", "Always free memory in C."],
    ),
    (
        (
            "Please remember: subject lines are short.\nSubject: Weekly report\n"
            "Never exceed 50 characters in subjects."
        ),
        ["Subject lines are short.", "Never exceed 50 characters in subjects."],
    ),
    (
        (
            "Frontend:\n- Always use pnpm.\nBackend:\n- Never use pip directly.\n"
            "Frontend tests:\n- Always use vitest."
        ),
        ["Always use pnpm.", "Never use pip directly.", "Always use vitest."],
    ),
    (
        (
            "Step 1: build. Always build with make.\nStep 2: test. Never test with mocks.\n"
            "Step 1 again: build. I prefer clean builds."
        ),
        ["Always build with make.", "Never test with mocks.", "I prefer clean builds."],
    ),
    ("Costs:\n$ 5 per seat. Never buy more seats.", ["Never buy more seats."]),
    (
        (
            "Use the list below.\n\n  - Never use vim in demos.\n"
            "  - Always use large fonts in demos.\n      - Never use red text in demos."
        ),
        [
            "Never use vim in demos.",
            "Always use large fonts in demos.",
            "Never use red text in demos.",
        ],
    ),
    (
        "Note: use tabs.\nFrom now on: never use spaces.\nNever mix tabs and spaces.",
        ["Never use spaces.", "Never mix tabs and spaces."],
    ),
    (
        "Always use <Button> for actions. Never use `<div>` where a `</div>` is missing.",
        [
            "Always use ‹Button> for actions.",
            "Never use `‹div>` where a `‹/div>` is missing.",
        ],
    ),
    (
        "<document> is the root of our files.\nNever rename the root of the files.",
        ["Never rename the root of the files."],
    ),
    (
        "Always send mails to Tom <tom@example.com>.\nNever send mails to me.",
        ["Always send mails to Tom ‹tom@example.com>.", "Never send mails to me."],
    ),
    ("data: 5\nto: 6\nNever push on Fridays.", ["Never push on Fridays."]),
    (
        "Standup at 10:42\nWe always meet in the kitchen.\n\nFrom 9 to 5: always be reachable.",
        ["We always meet in the kitchen."],
    ),
]
