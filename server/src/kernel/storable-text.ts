/**
 * Whether a store returns a text unchanged. A store returns a lone surrogate as U+FFFD, so two different texts could
 * become equal. PostgreSQL rejects NUL, even in a search. Source: docs/interface §2.3 rule 9.
 */
export const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
