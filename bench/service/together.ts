import type { Attack, HostileLoad } from './attack.ts';

/** Large bodies, long answers, expensive questions and builds. Each uses another part of the service's memory. */
const PARTS = [
  'deletes',
  'bodies-20',
  'bodies-lookups',
  'bodies-previews',
  'answers-8',
  'answers-list',
  'anonymous-docs',
  'ucp-search',
  'ucp-compatibility',
  'mcp-lookup',
  'channel-build',
  'fit-alternatives',
  'fit-totals',
  'search-misspelt',
];

/** Other loads at the same time, each on its own project, so their memory adds up. */
export function together(loads: readonly HostileLoad[]): HostileLoad {
  const parts = PARTS.map((name) => {
    const load = loads.find((one) => one.name === name);
    if (load === undefined) throw new Error(`no load ${name}`);
    return load;
  });
  const attacks = new Map<HostileLoad, Attack>();
  return {
    name: 'together',
    title: `${parts.length} loads at once: ${PARTS.join(', ')}`,
    async prepare(attack) {
      for (const load of parts) {
        const own = await attack.openBeside(load.name);
        attacks.set(load, own);
        await load.prepare?.(own);
      }
    },
    async run(attack) {
      await Promise.all([...attacks].map(([load, own]) => load.run(own)));
      for (const [{ name }, own] of attacks)
        for (const [outcome, count] of own.outcomes) attack.outcomes.set(`${name} ${outcome}`, count);
    },
  };
}
