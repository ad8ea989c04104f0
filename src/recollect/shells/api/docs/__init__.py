"""The files of the API's documentation page, which needs nothing from another server."""
