/** The places of marks on an axis of time from 0 to 1, in their order: none nearer to the next one than `gap`. */
export function placeMarks(instants: readonly number[], gap: number): readonly number[] {
  const [first = 0, last = 0] = [instants[0], instants.at(-1)];
  const span = Math.max(1, last - first);
  const room = 1 - gap * Math.max(0, instants.length - 1);
  if (room <= 0) return instants.map((_, at) => at / Math.max(1, instants.length - 1));
  return instants.map((instant, at) => at * gap + ((instant - first) / span) * room);
}
