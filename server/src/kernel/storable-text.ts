/**
 * Whether a store returns a text unchanged. It would return a lone surrogate as U+FFFD, which another text may contain,
 * and PostgreSQL rejects NUL even in a search. Source: docs/interface §2.3 rule 9.
 */
export const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
