"""The files of the API's documentation page, which loads nothing from other servers."""
