import type { ProductPage, ProductRelation } from '@relata/client';
import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { rich, t } from '../../languages/text.ts';
import { Button } from '../../parts/button.tsx';
import { Reason } from '../../parts/explanation.tsx';
import { Answer, Card } from '../../parts/page.tsx';
import { Joined, ProductChip, Thumb } from '../../parts/show.tsx';
import { formatCount } from '../../rules/format.ts';
import {
  findNext,
  listIdle,
  listWays,
  placeBranches,
  type Variants,
  type WalkSide,
  type Way,
  walkTo,
} from '../../rules/walk.ts';
import { useRelations } from '../../state/catalog.ts';
import { linkWith, projectLink, useRoute } from '../../state/route.ts';
import { findMainImage } from '../grid/product-rows.ts';
import { FIRST_GROUPS, MOST_GROUPS, useAround, useProduct, useRelated } from './around.ts';

/**
 * A product and its relations as a picture: a click moves another product to the middle. The path is part of
 * the address, so that it can be shared and the back button works.
 */
export function RelatedGraph({ identifier }: { identifier: string }) {
  const { query } = useRoute();
  const page = projectLink('products', identifier);
  const way: [string, ...string[]] = [identifier, ...query.getAll('via')];
  const around = useAround(way.at(-1) ?? identifier);
  const linkOn = (to: string) => {
    const [, ...via] = walkTo(way, to);
    return via.length > 0
      ? `${page}?${new URLSearchParams(via.map((identifier) => ['via', identifier]))}`
      : page;
  };
  // A product without related products has no picture. The card of related products shows the reason.
  if (way.length === 1 && around.data?.ways.length === 0) return null;
  return (
    <Card title={t('Walk from product to product')}>
      {way.length > 1 && <WalkedWay way={way} linkOn={linkOn} />}
      <Walk way={way} linkOn={linkOn} />
      <p className="soft small">
        {t(
          'A click or Enter moves on to a product, and the back button returns. Arrow keys move within the picture.',
        )}
      </p>
    </Card>
  );
}

interface WalkShape {
  /** The last product is in the middle, and the one before it is marked. */
  way: readonly [string, ...string[]];
  linkOn(identifier: string): string;
}

/** The picture of a product and its surroundings. */
export function Walk({ way, linkOn }: WalkShape) {
  const around = useAround(way.at(-1) ?? way[0]);
  const box = useRef<HTMLElement>(null);
  return (
    <Answer of={around}>
      {({ product, ways }) => (
        <section
          ref={box}
          className="stack"
          aria-label={t('Related products as a picture')}
          aria-busy={around.isPlaceholderData}
        >
          <Picture
            key={product.identifier}
            {...{ product, ways, linkOn, cameFrom: way.at(-2) }}
            onKeyDown={(event) => moveBy(event, box)}
          />
        </section>
      )}
    </Answer>
  );
}

function moveBy(event: KeyboardEvent<HTMLElement>, box: RefObject<HTMLElement | null>): void {
  const nodes = [...(box.current?.querySelectorAll<HTMLElement>('.walk-node') ?? [])];
  const boxes = nodes.map((node) => node.getBoundingClientRect());
  const next = nodes[findNext(event.key, event.currentTarget.getBoundingClientRect(), boxes)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

const WalkedWay = ({ way, linkOn }: WalkShape) => (
  <nav className="crumbs" aria-label={t('Path so far')}>
    {way.map((identifier, index) => (
      <span key={identifier}>
        {index > 0 && <span aria-hidden="true">› </span>}
        {index === way.length - 1 ? (
          <span aria-current="step">
            <Name identifier={identifier} />
          </span>
        ) : (
          <a href={linkOn(identifier)}>
            <Name identifier={identifier} />
          </a>
        )}
      </span>
    ))}
  </nav>
);

function Name({ identifier }: { identifier: string }) {
  const { data } = useProduct(identifier);
  return data?.product.name || identifier;
}

const MOST_BRANCHES = 6;
/** The products drawn for each relation; the more relations, the fewer. */
const NODES = { most: 7, least: 3, together: 14 };
const GLIDE_MS = 240;
/** A unit of the lines' SVG is a sixteenth of a rem. */
const REM = 16;

interface Shape {
  product: ProductPage['product'];
  ways: readonly Way[];
  cameFrom: string | undefined;
  linkOn(identifier: string): string;
  onKeyDown(event: KeyboardEvent<HTMLElement>): void;
}

interface Branch {
  readonly way: Way;
  readonly shown: readonly Variants[];
  readonly more: number;
}

function toBranches(ways: readonly Way[]): Branch[] {
  const drawn = ways.slice(0, MOST_BRANCHES);
  const share = Math.floor(NODES.together / Math.max(1, drawn.length));
  const most = Math.max(NODES.least, Math.min(NODES.most, share));
  return drawn.map((way) => ({
    way,
    shown: way.groups.slice(0, most),
    more: Math.max(0, way.groups.length - most),
  }));
}

/** The position of the clicked product. The next picture moves it from there to the middle. */
let chosenAt: DOMRect | undefined;

/** A product in the middle, its related products on both sides; screen readers get the same as a list. */
export function Picture({ product, ways, cameFrom, linkOn, onKeyDown }: Shape) {
  const [active, setActive] = useState('');
  const branches = toBranches(ways);
  const { height, left, right } = placeBranches(
    branches.map(({ shown, more }) => ({ shown: shown.length, hasMore: more > 0 })),
  );
  const keyed = (name: string) => ({
    tabIndex: active === name ? 0 : -1,
    onFocus: () => setActive(name),
    onKeyDown,
  });
  const drawSide = ({ branches: branchIndexes }: WalkSide, side: string) => (
    <ul className={`walk-side ${side}`}>
      {branchIndexes.map((index) => {
        const branch = branches[index];
        return branch && <BranchList key={index} {...{ branch, index, cameFrom, linkOn, keyed }} />;
      })}
    </ul>
  );
  const isLopsided = left.branches.length === 0;
  return (
    <div className={isLopsided ? 'walk lopsided' : 'walk'}>
      <Middle {...{ product, cameFrom, keyed: keyed('') }} />
      {ways.length === 0 && <p className="soft">{t('No relation leads on from here.')}</p>}
      <Lines nodes={right.nodes} height={height} side="right" />
      {drawSide(right, 'right')}
      {!isLopsided && <Lines nodes={left.nodes} height={height} side="left" />}
      {!isLopsided && drawSide(left, 'left')}
    </div>
  );
}

interface Keyed {
  tabIndex: number;
  onFocus(): void;
  onKeyDown(event: KeyboardEvent<HTMLElement>): void;
}

interface MiddleShape extends Pick<Shape, 'product' | 'cameFrom'> {
  keyed: Keyed;
}

function Middle({ product, cameFrom, keyed }: MiddleShape) {
  const { identifier, name, images } = product;
  const self = useRef<HTMLAnchorElement>(null);
  useLayoutEffect(() => {
    const from = chosenAt;
    chosenAt = undefined;
    if (from === undefined || self.current === null) return;
    self.current.focus({ preventScroll: true });
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    const to = self.current.getBoundingClientRect();
    const start = `translate(${from.x - to.x}px, ${from.y - to.y}px)`;
    self.current.animate([{ transform: start }, { transform: 'none' }], {
      duration: GLIDE_MS,
      easing: 'ease-out',
    });
  }, []);
  return (
    <a ref={self} className="walk-node walk-middle" href={projectLink('products', identifier)} {...keyed}>
      <Thumb url={findMainImage(images)} />
      <strong>{name}</strong>
      <span className="mono soft">{identifier}</span>
      {cameFrom !== undefined && <span className="walk-open">{t('Open the product page')}</span>}
    </a>
  );
}

interface BranchShape extends Pick<Shape, 'cameFrom' | 'linkOn'> {
  branch: Branch;
  index: number;
  keyed(name: string): Keyed;
}

function BranchList({ branch: { way, shown, more }, index, cameFrom, linkOn, keyed }: BranchShape) {
  const { relation, isBack } = way;
  return (
    <li className="walk-branch">
      <h3 className="cut" title={relation.name}>
        <span aria-hidden="true">{isBack ? '← ' : '→ '}</span>
        {relation.name}
        <span className="hidden">, {isBack ? t('to this product') : t('from this product')}</span>
      </h3>
      <ul>
        {shown.map(([first, ...others]) => (
          <li key={first.groupId}>
            <a
              className={first.identifier === cameFrom ? 'walk-node from' : 'walk-node'}
              href={linkOn(first.identifier)}
              title={first.name}
              onClick={({ currentTarget, ctrlKey, metaKey, shiftKey }) => {
                // A click that opens another tab does not move this picture.
                if (!(ctrlKey || metaKey || shiftKey)) chosenAt = currentTarget.getBoundingClientRect();
              }}
              {...keyed(`${index} ${first.identifier}`)}
            >
              <Thumb url={first.thumbnail} />
              <span>
                <span className="cut block">{first.name}</span>
                <span className="soft tiny cut block">
                  {others.length > 0
                    ? t('{count, plural, one {# variant} other {# variants}}', { count: others.length + 1 })
                    : first.identifier}
                </span>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {more > 0 && (
        <p className="soft tiny walk-more">
          {t('and {more} more', { more: `${more}${way.groups.length === FIRST_GROUPS ? '+' : ''}` })}
        </p>
      )}
    </li>
  );
}

interface LinesShape {
  nodes: readonly number[];
  height: number;
  side: 'left' | 'right';
}

function Lines({ nodes, height, side }: LinesShape) {
  const [from, to] = side === 'right' ? [0, 100] : [100, 0];
  const middle = (height / 2) * REM;
  return (
    <svg
      className={`walk-lines ${side}`}
      viewBox={`0 0 100 ${Math.max(1, height * REM)}`}
      preserveAspectRatio="none"
      style={{ height: `${height}rem` }}
      aria-hidden="true"
    >
      {nodes.map((y) => (
        <path
          key={y}
          d={`M${from} ${middle} C 50 ${middle}, 50 ${y * REM}, ${to} ${y * REM}`}
          vectorEffect="non-scaling-stroke"
        />
      ))}
    </svg>
  );
}

const SHOWN = 6;

/** The products that a product leads to or is a result of, by relation, with the reason. */
export function RelatedCard({ identifier, shown = SHOWN }: { identifier: string; shown?: number }) {
  const [limit, setLimit] = useState(FIRST_GROUPS);
  const related = useRelated(identifier, limit);
  return (
    <Card title={t('Related products')}>
      <Answer of={related}>
        {(relations) => (
          <>
            {listWays(relations).map((way) => (
              <WayCards
                key={`${way.relation.id} ${way.isBack}`}
                way={way}
                {...{ limit, shown, onMore: () => setLimit(MOST_GROUPS) }}
              />
            ))}
            <IdleRelations identifier={identifier} relations={relations} />
          </>
        )}
      </Answer>
    </Card>
  );
}

interface WayCardsShape {
  way: Way;
  /** The number of groups requested; further ones are unknown. */
  limit: number;
  /** The number of groups visible at first. */
  shown: number;
  onMore(): void;
}

function WayCards({ way, limit, shown: first, onMore }: WayCardsShape) {
  const [isWhole, setWhole] = useState(false);
  const { groups } = way;
  const mayHaveMore = groups.length === limit;
  const shown = isWhole ? groups : groups.slice(0, first);
  const canShowMore = shown.length < groups.length || (mayHaveMore && limit < MOST_GROUPS);
  const showMore = () => {
    setWhole(true);
    if (mayHaveMore) onMore();
  };
  return (
    <section className="stack">
      <WayHead way={way} count={`${formatCount(groups.length)}${mayHaveMore ? '+' : ''}`} />
      <ul className="products-strip cards">
        {shown.map((variants) => (
          <FoldedCard key={variants[0].groupId} variants={variants} />
        ))}
      </ul>
      {canShowMore && (
        <div>
          <Button onClick={showMore}>
            {mayHaveMore ? t('Show more') : t('Show all {count}', { count: formatCount(groups.length) })}
          </Button>
        </div>
      )}
    </section>
  );
}

function WayHead({ way: { relation, isBack }, count }: { way: Way; count: string }) {
  const { data: relations = [] } = useRelations();
  const twoWay = relations.find(({ id }) => id === relation.id)?.twoWay ?? false;
  const oneWay = isBack
    ? t('This product is shown with them, but they are not shown with it.')
    : t('They are shown with this product.');
  return (
    <div>
      <h3 className="row">
        <a href={projectLink('relations', relation.id)}>{relation.name}</a>
        <span className="badge plain">{count}</span>
        <span className="tag">{isBack ? t('leads here') : t('leads to')}</span>
        {!relation.enabled && <span className="tag">{t('switched off')}</span>}
      </h3>
      <p className="soft small">
        {twoWay
          ? t('Both ways: they are shown with this product, and this product is shown with them.')
          : oneWay}
      </p>
    </div>
  );
}

const FoldedCard = ({ variants: [first, ...others] }: { variants: Variants }) => (
  <li className={others.length > 0 ? 'folded' : undefined}>
    <ProductChip product={first}>
      <Reason reason={first.explain} />
    </ProductChip>
    {others.length > 0 && (
      <details className="small">
        <summary>
          {t('{count, plural, one {# more variant} other {# more variants}}', { count: others.length })}
        </summary>
        <ul className="variants">
          {others.map((product) => (
            <li key={product.identifier}>
              <ProductChip product={product}>
                <Reason reason={product.explain} />
              </ProductChip>
            </li>
          ))}
        </ul>
      </details>
    )}
  </li>
);

interface IdleShape {
  identifier: string;
  relations: readonly ProductRelation[];
}

function IdleRelations({ identifier, relations }: IdleShape) {
  if (relations.length === 0)
    return (
      <p className="soft">
        {rich(
          'This project has no relations yet. <relations>Create one</relations>, or see what the data <suggestions>suggests</suggestions>.',
          { relations: projectLink('relations'), suggestions: projectLink('suggestions') },
        )}
      </p>
    );
  const idle = listIdle(relations);
  if (idle.length === 0) return null;
  const active = relations.length - idle.length;
  const list = <IdleList identifier={identifier} relations={idle} />;
  return active > 0 ? (
    <details>
      <summary>
        {t('{count, plural, one {# relation finds} other {# relations find}} nothing for this product', {
          count: idle.length,
        })}
      </summary>
      {list}
    </details>
  ) : (
    <>
      <p>
        <strong>{t('No relation leads from or to this product.')}</strong>
      </p>
      {list}
    </>
  );
}

function IdleList({ identifier, relations }: IdleShape) {
  const nameOf = ({ id, name }: ProductRelation) => <a href={projectLink('relations', id)}>{name}</a>;
  const { data: definitions = [] } = useRelations();
  const lists = new Set(definitions.filter(({ kind }) => kind === 'links').map(({ id }) => id));
  const reasonOf = (relation: ProductRelation) => describeIdle(relation, lists.has(relation.id));
  const explained = relations.filter((relation) => reasonOf(relation) !== undefined);
  const elsewhere = relations.filter((relation) => reasonOf(relation) === undefined);
  const why = linkWith(projectLink('why'), { source: identifier });
  return (
    <div className="stack">
      <ul className="stack small">
        {explained.map((relation) => (
          <li key={relation.id}>
            {nameOf(relation)}: {reasonOf(relation)}
          </li>
        ))}
        {elsewhere.length > 0 && (
          <li>
            {t('This product meets the conditions of neither side:')}{' '}
            <Joined list={elsewhere}>{nameOf}</Joined>
          </li>
        )}
      </ul>
      <p>
        {rich('<link>Why not?</link> Choose a product that should go with it, and see what is missing.', {
          link: why,
        })}
      </p>
    </div>
  );
}

function describeIdle({ state, asSource, asTarget }: ProductRelation, isList: boolean): string | undefined {
  if (state === 'building') return t('It is being built.');
  if (state === 'misconfigured') return t('It cannot work and returns nothing.');
  if (isList) return t('Its links name no other product with this one.');
  if (asSource?.stands) return t('This product may have results, but no other product matches it.');
  return asTarget?.stands ? t('This product may be a result, but it matches no other product.') : undefined;
}
