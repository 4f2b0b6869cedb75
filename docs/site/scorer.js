// What a search shows first: how Subscape is used. What was decided, measured or changed, and why, comes after it.
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    /^(docs\/decisions\/|docs\/mutants|benchmarks\/|CHANGELOG|README)/.test(page) ? score - 100 : score,
  // What follows is as Sphinx has it.
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
