"""Properties are judged by what they find, not by how fast a busy machine finds it."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
