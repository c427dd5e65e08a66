/** What the caller must put right before anything is sent. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
