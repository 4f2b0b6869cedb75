// What a search shows first: a page of the very name, then how Subscape is used; what was decided, measured or changed, and
// why, comes after it.
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    const asked = new URLSearchParams(window.location.search).get("q") || "";
    const plain = (text) => text.trim().toLowerCase().replaceAll("_", " ");
    if (/^(docs\/decisions\/|docs\/mutants|benchmarks\/|CHANGELOG|README)/.test(page)) return score - 100;
    return page.startsWith("reference/") && plain(title) === plain(asked) ? score + 100 : score;
  },
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
