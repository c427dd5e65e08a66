// runs: deep, postgres deep
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
/** By the kind that the relation has in the output. */
const RELATIONS = {
  accessory: { source: every, target: every, match: [bySystem], sort },
  required_part: { source: every, target: every, match: [bySystem], sort, excludeSameGroup: false },
  substitute: { source: even, target: every, match: [bySystem], sort, excludeSameGroup: false, twoWay: true },
  often_bought_with: {
    source: every,
    target: even,
    sort,
    match: [bySystem, { target: 'Length', operator: 'less', source: 'Length' }],
  },
};
let project: ChannelProject;

const service = shareService({}, async (started) => {
  project = await createChannelProject(started);
  const products = Array.from({ length: PRODUCTS }, (_, index) => {
    const values = {
      System: `S${(index * 7) % 40}`,
      Parity: index % 2 ? 'odd' : 'even',
      Length: `${(index * 13) % 90}`,
    };
    return sold(`P${index}`, values, { groupIdentifier: `G${(index * 7) % 40}-${index % 3}` });
  });
  await project.load(...products);
  for (const [as, definition] of Object.entries(RELATIONS)) await project.relate(as, definition);
});

test('a channel publishes the same related products as a request for one product, even if products share a list (§16.1 rule 4)', async () => {
  const kinds = Object.keys(RELATIONS);
  const relations = kinds.map((as) => ({ tag: as, as, limit: LIMIT }));
  const channel = await project.create({ name: 'Feed', format: { type: 'ndjson' }, relations });
  assert.equal((await project.build(channel)).taskStatus, 'FINISHED');
  const lines = (await (await project.fetch(channel.url)).text()).trimEnd().split('\n');
  assert.equal(lines.length, PRODUCTS);
  const tags = encodeURIComponent(JSON.stringify(kinds.map((tag) => ({ tag, limitPerRelation: LIMIT }))));
  for (const line of lines.filter((_, index) => index % 5 === 0)) {
    const { identifier, ...row } = JSON.parse(line);
    const path = `/search/relations/result?identifier=${identifier}&includeTags=${tags}`;
    const { body } = await project.call('GET', path);
    const answered = body.tags.map(({ tag, relations: [{ searchResult }] }: AnyBody) => [
      tag,
      searchResult.map((product: AnyBody) => product.identifier),
    ]);
    const published = kinds.map((as) => [as, row[as]]);
    assert.deepEqual(Object.fromEntries(published), Object.fromEntries(answered), identifier);
  }
});

test('a left-out product is not named by any related product, even one that was written long before it (§16.3 rule 10)', async () => {
  const late = await createChannelProject(service());
  // 5 MB: a piece is stored before the first incomplete product.
  const count = 900;
  const Description = 'd'.repeat(5_000);
  const products = Array.from({ length: count }, (_, index) => {
    const lacking: Record<string, string> = index === 880 || index === 895 ? { Price: '' } : {};
    const values = { System: `S${index % 300}`, Length: `${index}`, Description, ...lacking };
    return sold(`L${index}`, values, index === 7 ? { name: 'n'.repeat(160) } : {});
  });
  await late.load(...products);
  await late.relate('fits', RELATIONS.accessory);
  const format = { type: 'google-merchant', variant: 'xml', compression: 'none' };
  const relations = [{ tag: 'fits', as: 'accessory', limit: LIMIT }];
  const channel = await late.create({ name: 'Google', format, relations });
  const task = await late.build(channel);
  const text = await (await late.fetch(channel.url)).text();
  assert.equal(text.match(/<item>/g)?.length, count - 2);
  assert.equal(text.match(/<link>https:\/\/shop.test<\/link>/g)?.length, 1, 'a file begins once');
  assert.doesNotMatch(text, />L8(80|95)</);
  assert.match(text, /<g:id>L280<.*>L580<.*\n/, 'other products are named as before');
  const { products: read, rows, leftOut, related, relatedLeftOut } = task.counts;
  assert.deepEqual([read, rows, leftOut], [count, count - 2, 2]);
  assert.deepEqual([related, relatedLeftOut], [2 * count - 8, 4]);
  const lines = (await late.report(task)).map(({ code, identifier }: AnyBody) => `${code} ${identifier}`);
  const lacking = ['field_missing L880', 'field_missing L895'];
  assert.deepEqual(lines, ['value_shortened L7', ...lacking, 'related_absent undefined']);
  const stored = await service().store.listBodies();
  const pieces = stored.filter((name) => name.startsWith(`channel-${channel.id}-`));
  assert.equal(pieces.length, 2, 'the names written before are removed');
});

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;
