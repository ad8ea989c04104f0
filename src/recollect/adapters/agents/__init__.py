"""Where agents keep their settings, and how Recollect adds itself safely."""
