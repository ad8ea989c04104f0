"""The REST shell: `/api/v1`, its problems, its documentation and its metrics."""
