"""Where agents keep their settings, and how Recollect puts itself there without harm."""
