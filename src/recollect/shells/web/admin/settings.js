// What each setting does, in plain words, and what the benchmark measured. Figures are nDCG@10 in
// percent, from the ADR given.
export const SETTINGS = {
  lexical_weight: [
    "Weight of words",
    "How much matching words count. The other weights are relative to this one. 0 to 5.",
    "Words alone reach 46.9 on agent memories, words and meaning together 66.8 (ADR 0042).",
  ],
  dense_weight: [
    "Weight of meaning",
    "How much a similar meaning counts. Raise it if queries use other words than memories. 0 to 5.",
    "Meaning alone reaches 67.2 on agent memories, but 35.3 on LoCoMo, where both together reach 57.4 (ADR 0042).",
  ],
  graph_weight: [
    "Weight of connections",
    "How much the concept graph may reorder what was found. 0 to 5.",
    "Raises questions over several memories: 2Wiki from 75.9 to 87.3, MuSiQue from 66.1 to 70.2 (ADR 0024).",
  ],
  fusion: [
    "How rankings are combined",
    "By how far a hit stands out from the rest, by its rank alone, or by weighted scores.",
    "Standing out was best or close to it on all sets: 50.8 on LoCoMo, by rank 38.2 (ADR 0011).",
  ],
  vote: [
    "Bonus for being found",
    "What being found at all adds, when combining by how far a hit stands out.",
    "See ADR 0011.",
  ],
  rrf_k: [
    "Rank constant",
    "How slowly lower ranks lose weight, when combining by rank.",
    "Not used unless rankings are combined by rank.",
  ],
  depth: ["Search depth", "How many results each kind of search contributes.", ""],
  deadline_ms: [
    "Time limit (ms)",
    "A search that takes longer is left out of the answer. Raise it on a slow machine.",
    "",
  ],
  prior_strength: [
    "Influence of importance",
    "The share of the score that a memory's importance decides.",
    "At 0.3, meaningful importance gains 1.3 points and a random one costs 0.4; at 0.6 it costs 2.7 (docs/adr/rejected.md).",
  ],
  min_relevance: [
    "Minimum relevance",
    "Less relevant memories are not recalled.",
    "0.1 costs no set more than 0.1 points; 0.3 costs 0.4 to 2.4 (ADR 0042).",
  ],
  second_stage: [
    "Second stage",
    "Compares the first hits with the query again: word by word with the embedding model, or with a larger model (RECOLLECT_RERANKER).",
    "Word by word raises LoCoMo from 56.1 to 60.0 with minilm, and lowers agent memories from 68.9 to 67.8 (ADR 0052).",
  ],
  rerank_depth: ["Hits for the second stage", "How many hits are compared again.", ""],
  rerank_timeout_ms: [
    "Time for the second stage (ms)",
    "If it takes longer, the order stays as it was.",
    "",
  ],
  newer_first: [
    "Newer first",
    "Of two of the first five hits that give different values for the same thing, the newer one is shown first.",
    "The current memory comes first in 81 % of the questions about changed facts, without it in 17 % (ADR 0054).",
  ],
};
export const CHOICES = {
  fusion: [
    ["standout", "how far it stands out"],
    ["rrf", "rank"],
    ["convex", "weighted scores"],
  ],
  second_stage: [
    ["off", "off"],
    ["late", "word by word"],
    ["cross-encoder", "larger model"],
  ],
  newer_first: [
    ["on", "on"],
    ["off", "off"],
  ],
};
