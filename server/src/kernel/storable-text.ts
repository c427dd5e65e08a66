/**
 * Whether a store keeps a text as it is: an unpaired surrogate would be read as U+FFFD, which another text may have, and
 * PostgreSQL takes no NUL, not even to look for it. Source: docs/interface.md §2.3 rule 9.
 */
export const isStorableText = (text: string): boolean => text.isWellFormed() && !text.includes('\0');
