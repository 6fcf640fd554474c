"""What graders that ask a model share: the judge, its votes, its pictures, its view of the steps."""
