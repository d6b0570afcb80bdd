"""What a person reads: `words` (the sentences, by language), `explanation` and `headline` (a survey before an answer),
`bound` (how much all that is sent can tell) and `budget` (what was given away so far)."""
