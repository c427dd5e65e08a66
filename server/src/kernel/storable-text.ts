/**
 * Whether a store returns a text unchanged: a lone surrogate would be read as U+FFFD, which another text may
 * have, and PostgreSQL accepts no NUL, not even to search for it. Source: docs/interface §2.3 rule 9.
 */
export const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
