"""What the use cases need from the outside, as small protocols in the terms of the domain."""
