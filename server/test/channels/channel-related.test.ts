import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ChannelProject, createChannelProject, sold } from '../support/channels/channel-project.ts';
import { shareService } from '../support/shared-service.ts';

/** Enough for several pages of a build. */
const PRODUCTS = 450;
const LIMIT = 3;
const every = { all: [] };
const even = { attribute: 'Parity', operator: 'equals', value: 'even' };
const bySystem = { target: 'System', operator: 'equals', source: 'System' };
const sort = [{ attribute: 'Length', direction: 'desc' }];
/** By the kind that it goes out as. */
const RELATIONS = {
  accessory: { source: every, target: every, match: [bySystem], sort },
  required_part: { source: every, target: every, match: [bySystem], sort, excludeSameGroup: false },
  substitute: { source: even, target: every, match: [bySystem], sort, excludeSameGroup: false, twoWay: true },
  often_bought_with: {
    ...{ source: every, target: even, sort },
    match: [bySystem, { target: 'Length', operator: 'less', source: 'Length' }],
  },
};
let project: ChannelProject;

shareService({}, async (service) => {
  project = await createChannelProject(service);
  const products = Array.from({ length: PRODUCTS }, (_, at) => {
    const values = {
      System: `S${(at * 7) % 40}`,
      Parity: at % 2 ? 'odd' : 'even',
      Length: `${(at * 13) % 90}`,
    };
    return sold(`P${at}`, values, { groupIdentifier: `G${(at * 7) % 40}-${at % 3}` });
  });
  await project.load(...products);
  for (const [as, definition] of Object.entries(RELATIONS)) await project.relate(as, definition);
});

test('the best of each related group goes out, as in the single answer, whoever shares a list (§16.1 rule 4)', async () => {
  const kinds = Object.keys(RELATIONS);
  const relations = kinds.map((as) => ({ tag: as, as, limit: LIMIT }));
  const channel = await project.create({ name: 'Feed', format: { type: 'ndjson' }, relations });
  assert.equal((await project.build(channel)).taskStatus, 'FINISHED');
  const lines = (await (await project.fetch(channel.url)).text()).trimEnd().split('\n');
  assert.equal(lines.length, PRODUCTS);
  const tags = encodeURIComponent(JSON.stringify(kinds.map((tag) => ({ tag, limitPerRelation: LIMIT }))));
  for (const line of lines.filter((_, at) => at % 5 === 0)) {
    const { identifier, ...row } = JSON.parse(line);
    const path = `/search/relations/result?identifier=${identifier}&includeTags=${tags}`;
    const { body } = await project.call('GET', path);
    const answered = body.tags.map(({ tag, relations: [{ searchResult }] }: AnyBody) => [
      tag,
      searchResult.map((one: AnyBody) => one.identifier),
    ]);
    const published = kinds.map((as) => [as, row[as]]);
    assert.deepEqual(Object.fromEntries(published), Object.fromEntries(answered), identifier);
  }
});

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;
