// runs: deep, postgres deep
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { definition, NUMERIC, product, set, TABLES, TEXTS } from '../support/relations/fit-cases.ts';
import { type FitDefinition, FitOracle } from '../support/relations/fit-oracle.ts';
import { createRelationCatalog } from '../support/relations/relation-catalog.ts';
import { shareService } from '../support/shared-service.ts';

const service = shareService();

// biome-ignore lint/suspicious/noExplicitAny: tests read answers field by field and assert on what they read.
type AnyBody = any;

const SETS_PER_CATALOG = 25;
const SETS = Number(process.env.RELATA_TEST_SETS ?? 100);

test('random sets get the same verdicts as from a nested loop over products and rules (§12.10)', () =>
  fc.assert(
    fc.asyncProperty(
      fc.record({
        products: fc.uniqueArray(product, {
          minLength: 10,
          maxLength: 20,
          size: 'max',
          selector: ({ identifier }) => identifier,
        }),
        definitions: fc.array(definition, { minLength: 5, maxLength: 9, size: 'max' }),
        sets: fc.array(set, { minLength: SETS_PER_CATALOG, maxLength: SETS_PER_CATALOG, size: 'max' }),
      }),
      async ({ products, definitions, sets }) => {
        const catalog = await createRelationCatalog(service());
        const millimetres = { type: 'NUMERIC_ATTRIBUTE', unitName: 'mm' };
        await catalog.putOntology(
          'own',
          ...NUMERIC.map((name) => ({ name, ...millimetres })),
          ...TEXTS.map((name) => ({ name, type: 'TEXT_ATTRIBUTE' })),
        );
        for (const [name, pairs] of Object.entries(TABLES)) {
          const path = `/management/projects/${catalog.projectId}/tables`;
          const { status } = await service().call('POST', path, { body: { name, pairs } });
          assert.equal(status, 201);
        }
        await catalog.load(...products.map((product) => ({ ...product })));
        const made: FitDefinition[] = [];
        for (const [index, definition] of definitions.entries()) {
          const { status, body } = await catalog.manage('POST', '', {
            name: `R${index}`,
            tag: 'fit',
            ...definition,
          });
          assert.equal(status, 201, JSON.stringify(body));
          made.push({ id: body.id, ...definition });
        }
        const oracle = new FitOracle(products, { numeric: NUMERIC, tables: TABLES });
        for (const items of sets) {
          const { status, body } = await catalog.post('/search/relations/fit', { items });
          assert.equal(status, 200, JSON.stringify(body));
          assert.deepEqual(describe(body), describeExpected(oracle.judge(made, items)));
        }
      },
    ),
    {
      numRuns: Math.ceil(SETS / SETS_PER_CATALOG),
      interruptAfterTimeLimit: 1_200_000,
      markInterruptAsFailure: true,
    },
  ));

function describe({ verdict, pairs, totals, withoutRule, unknownIdentifiers }: AnyBody) {
  return {
    verdict,
    withoutRule,
    unknownIdentifiers,
    pairs: pairs.map(
      ({ relation, source, target, verdict: word, match: elements, missing: lacking }: AnyBody) => {
        // Unknown verdicts state their reasons.
        if (word === 'unknown') assert.ok(lacking.length > 0, JSON.stringify({ source, target, relation }));
        return {
          id: relation.id,
          source,
          target,
          verdict: word,
          match: elements.map((element: AnyBody) => element.verdict),
        };
      },
    ),
    totals: totals.map(({ relation, source, verdict: word, total }: AnyBody) => ({
      id: relation.id,
      source,
      verdict: word,
      parts: total.parts.map(({ identifier }: AnyBody) => identifier),
      sum: total.sum,
    })),
  };
}

function describeExpected({ totals, ...judged }: ReturnType<FitOracle['judge']>) {
  return {
    ...judged,
    totals: totals.map(({ sum, ...total }) => ({ ...total, sum: `${Number(sum) / 10_000} mm` })),
  };
}
