"""The words that the synthetic set is made of, all written for it.

What a coding agent and the person it works for would want to keep. A pair's question avoids every
telling word of its memory: `test_synthetic.py` holds each of them to the rule in `strata.py`.
"""

from __future__ import annotations

from typing import Final

# A memory, and a question that means it without saying it.
PAIRS: Final = (
    ("The user is allergic to peanuts.", "Which food could make me ill?"),
    ("Never push straight to the main branch; open a pull request.", "How do changes get merged?"),
    ("The user's daughter was born in March.", "When is the birthday of my child?"),
    ("Mira prefers tabs over spaces.", "How should source files be indented?"),
    ("The office coffee machine breaks every Monday.", "Where can I not rely on an espresso?"),
    ("Invoices are paid within thirty days.", "How long do customers have to settle a bill?"),
    ("The laptop's battery lasts barely two hours.", "Can I work long without a charger?"),
    ("Passwords are hashed with argon2.", "How do we protect user credentials at rest?"),
    ("The user goes jogging before breakfast.", "What sport do I do in the morning?"),
    ("Deploys are frozen in the last week of December.", "May I ship a release at Christmas?"),
    ("The nightly backup is copied to a second continent.", "Would we survive losing a building?"),
    ("Write commit messages in the imperative mood.", "What style do history entries follow?"),
    ("The cat sleeps on the keyboard at noon.", "What does my pet do at lunchtime?"),
    ("Floating point must not be used for money.", "Which number type suits prices?"),
    ("The user moved from Lisbon to Oslo.", "In which country do I live now?"),
    ("Responses slower than a second page the engineer on duty.", "When does latency raise alarm?"),
    ("The dentist's appointment is on Thursday.", "When will somebody look at my teeth?"),
    ("The old Perl scripts were thrown away.", "Do we still keep legacy code around?"),
    ("Screen readers announce every button by its label.", "Is the page usable for blind people?"),
    ("The user does not eat meat.", "Would I order a steak?"),
    ("Feature flags are removed a month after launch.", "When are toggles cleaned up?"),
    ("The car is parked on the third level.", "Where did I leave my vehicle?"),
    ("Nobody reviews their own patch.", "Can an author approve what he wrote?"),
    ("Secrets live in the vault, not in the repository.", "Where do API keys belong?"),
    ("The user's mother tongue is Portuguese.", "Which language did I grow up with?"),
    (
        "Rewriting the scheduler in Rust made it ten times faster.",
        "What improved performance most?",
    ),
    (
        "The meeting on Friday was cancelled.",
        "Do I have to attend anything at the end of the week?",
    ),
    ("Logs are deleted after ninety days.", "How far back can we trace what happened?"),
    ("The landlord wants the rent on the first.", "When do I pay for my flat?"),
    ("Tests that sometimes fail are deleted, not retried.", "What happens to flaky checks?"),
    ("The user is afraid of flying.", "Why would I rather not board an airplane?"),
    ("Only the finance team may see salaries.", "Who has access to what people earn?"),
    ("Grandmother's apple cake needs two hundred grams of butter.", "How much fat is in the pie?"),
    ("A timeout of five seconds guards every network call.", "How long do we wait for a server?"),
    ("The piano was tuned in autumn.", "Which instrument got maintenance?"),
    ("Pictures are shrunk before they are sent to the phone.", "How do we save mobile bandwidth?"),
)

# Unlike the pairs nobody asks for these; they stand in the way, as most memories do.
OTHERS: Final = (
    "The weekly planning takes place in the large room.",
    "Documentation is written in Markdown and checked for dead links.",
    "The user likes short answers with an example.",
    "Names of tests say what is expected, not what is called.",
    "The staging system is reset every night.",
    "The user reads mail twice a day only.",
    "Database migrations run before the new version starts.",
    "The printer on the second floor needs a new cartridge.",
    "Comments explain reasons; the code itself says what it does.",
    "The user keeps a garden with tomatoes and beans.",
    "Dependencies are updated together on the first of a month.",
    "Every public function has a type for each argument.",
    "The library card expires in summer.",
    "The support team answers within one working day.",
    "Dark colours are preferred in every editor.",
    "The bicycle has a puncture in the rear tyre.",
    "Errors are told to people in plain words, with what to do next.",
    "The user listens to jazz while working.",
    "A change of the schema is announced a week ahead.",
    "The neighbour waters the plants during holidays.",
    "Long functions are split when they no longer fit on a page.",
    "Customer data stays in Europe.",
    "The team's retrospective is held every second Wednesday.",
    "The user collects stamps from Iceland.",
)

SERVICES: Final = ("billing", "search", "upload", "mailer", "gateway", "reports", "login", "export")
CAUSES: Final = (
    "the disk was full",
    "a certificate had expired",
    "the connection pool was exhausted",
    "two jobs waited for each other",
    "a clock was wrong by an hour",
    "the cache held stale entries",
    "a header was missing",
    "the queue had no consumer",
)
REMEDIES: Final = (
    "restarting helped",
    "rolling back helped",
    "more memory helped",
    "a new index helped",
    "raising the limit helped",
    "renewing it helped",
)

PEOPLE: Final = (
    "Priya Raman", "Tomas Lindqvist", "Aiko Morita", "Lukas Brandt", "Zeynep Aydin",
    "Mateo Ferrer", "Ingrid Solberg", "Kwame Boateng", "Noor Haddad", "Petra Novak",
    "Diego Salas", "Hanna Virtanen", "Ravi Menon", "Clara Dubois", "Stefan Ilic",
    "Amina Diallo", "Jonas Keller", "Leila Farahani", "Oskar Wrona", "Mei Tanaka",
)  # fmt: skip
PROJECTS: Final = (
    "Harbor", "Lantern", "Quarry", "Juniper", "Comet", "Driftwood", "Falcon", "Marble", "Orchard",
    "Pinecone", "Saffron", "Tundra", "Velvet", "Walnut", "Zephyr", "Bramble", "Cobalt", "Ember",
    "Glacier", "Nimbus",
)  # fmt: skip
DATABASES: Final = (
    "Postgres", "SQLite", "MariaDB", "Redis", "Cassandra", "DuckDB", "ClickHouse", "Neo4j",
    "MongoDB", "CouchDB",
)  # fmt: skip

CITIES: Final = (
    "Frankfurt", "Dublin", "Singapore", "Montreal", "Nairobi", "Osaka", "Santiago", "Warsaw",
    "Mumbai", "Helsinki",
)  # fmt: skip
SETTINGS: Final = ("CACHE", "QUEUE", "RETRY", "BATCH")
MEASURES: Final = ("DEPTH", "SIZE", "DELAY", "LIMIT", "WINDOW", "BUDGET")

# Facts that every scoped project has in its own way, so that only the scope tells them apart: what
# is remembered, with the project's own word in it; a question in its words, and one that avoids
# them.
SCOPED_PROJECTS: Final = ("atlas", "beacon", "cinder", "delta")
SCOPED_FACTS: Final = (
    (
        "Run the tests with {}.",
        ("make verify", "tox -e fast", "nox -s unit", "pytest -n 4"),
        "command to run the tests",
        "How do I check that nothing broke?",
    ),
    (
        "The server listens on port {}.",
        ("8417", "9203", "7766", "6150"),
        "on which port does the server listen",
        "Which address do I open in a browser?",
    ),
    (
        "Reviews are done by {}.",
        ("Emeka", "Sunniva", "Bartek", "Yuki"),
        "who does the reviews",
        "Whose approval do I need before merging?",
    ),
    (
        "Releases are tagged every {}.",
        ("fortnight", "quarter", "sprint", "Tuesday"),
        "when are releases tagged",
        "How often does a new version come out?",
    ),
    (
        "The code is formatted by {}.",
        ("black", "ruff", "prettier", "gofmt"),
        "what formats the code",
        "Which tool keeps the layout uniform?",
    ),
    (
        "Bugs are tracked in {}.",
        ("Jira", "Linear", "Trac", "Bugzilla"),
        "where are bugs tracked",
        "In which place do I report a defect?",
    ),
)
