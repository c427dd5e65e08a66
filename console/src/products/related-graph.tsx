/** Around the product, its relations; around each, what they lead to. */

interface GraphRelation {
  readonly name: string;
  readonly products: readonly string[];
}

const WIDTH = 720;
const HEIGHT = 260;
const SHOWN_RELATIONS = 4;
const SHOWN_PRODUCTS = 6;
const LETTERS = 22;

const cut = (text: string, letters = LETTERS) =>
  text.length > letters ? `${text.slice(0, letters - 1)}…` : text;

/** The list below it says the same in words. */
export function RelatedGraph({
  identifier,
  relations,
}: {
  identifier: string;
  relations: readonly GraphRelation[];
}) {
  const shown = relations.slice(0, SHOWN_RELATIONS);
  const rowHeight = HEIGHT / shown.length;
  return (
    <svg
      className="graph wide-graph"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={t('{identifier} and {others}', {
        identifier,
        others: relations
          .map(({ name, products }) => t('{count} by {name}', { count: products.length, name }))
          .join(', '),
      })}
    >
      {shown.map((relation, at) => (
        <Branch key={`${at} ${relation.name}`} relation={relation} top={at * rowHeight} height={rowHeight} />
      ))}
      <rect x={4} y={HEIGHT / 2 - 15} width={150} height={30} rx={15} fill="var(--accent)" />
      <text x={79} y={HEIGHT / 2 + 4} textAnchor="middle" fill="var(--accent-ink)" fontSize={12}>
        {cut(identifier, 20)}
      </text>
    </svg>
  );
}

function Branch({ relation, top, height }: { relation: GraphRelation; top: number; height: number }) {
  const middle = top + height / 2;
  const products = relation.products.slice(0, SHOWN_PRODUCTS);
  const step = height / (products.length + 1);
  return (
    <g fontSize={11}>
      <path
        d={`M154 ${HEIGHT / 2} C 190 ${HEIGHT / 2}, 190 ${middle}, 226 ${middle}`}
        fill="none"
        stroke="var(--edge)"
      />
      <rect x={226} y={middle - 13} width={190} height={26} rx={6} fill="var(--accent-wash)" />
      <text x={321} y={middle + 4} textAnchor="middle" fill="var(--accent)">
        {cut(relation.name, 30)}
      </text>
      {products.map((product, at) => {
        const y = top + step * (at + 1);
        return (
          <g key={product}>
            <path d={`M416 ${middle} C 460 ${middle}, 470 ${y}, 510 ${y}`} fill="none" stroke="var(--line)" />
            <circle cx={514} cy={y} r={3} fill="var(--accent)" />
            <text x={524} y={y + 4} fill="var(--ink)">
              {cut(product, 24)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

import { t } from '../languages/text.ts';
