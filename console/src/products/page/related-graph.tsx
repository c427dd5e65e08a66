import type { ProductPage } from '@relata/client';
import { type KeyboardEvent, type RefObject, useLayoutEffect, useRef, useState } from 'react';
import { t } from '../../languages/text.ts';
import { Answer, Card } from '../../parts/page.tsx';
import { Thumb } from '../../parts/show.tsx';
import { findNext, placeBranches, type Variants, type WalkSide, type Way, walkTo } from '../../rules/walk.ts';
import { projectLink, useRoute } from '../../state/route.ts';
import { findMainImage } from '../grid/product-rows.ts';
import { FIRST_GROUPS, useAround, useProduct } from './around.ts';

/**
 * A product and what its relations lead to, as a picture: whatever is clicked becomes the middle. The way that was walked
 * stands in the address, so that it can be sent and the back button returns.
 */
export function RelatedGraph({ identifier }: { identifier: string }) {
  const { query } = useRoute();
  const page = projectLink('products', identifier);
  const way: [string, ...string[]] = [identifier, ...query.getAll('via')];
  const around = useAround(way.at(-1) ?? identifier);
  const linkOn = (to: string) => {
    const [, ...via] = walkTo(way, to);
    return via.length > 0 ? `${page}?${new URLSearchParams(via.map((one) => ['via', one]))}` : page;
  };
  // Of a product that leads nowhere there is nothing to draw; the card of related products says why.
  if (way.length === 1 && around.data?.ways.length === 0) return null;
  return (
    <Card title={t('Walk from product to product')}>
      {way.length > 1 && <WalkedWay way={way} linkOn={linkOn} />}
      <Walk way={way} linkOn={linkOn} />
      <p className="soft small">
        {t('A click or Enter goes on to a product, the back button returns. Arrow keys move in the picture.')}
      </p>
    </Card>
  );
}

interface WalkShape {
  /** The last one is in the middle, the one before is marked. */
  way: readonly [string, ...string[]];
  linkOn(identifier: string): string;
}

/** The picture of a product and what is around it. */
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

/** Moves the keyboard to what stands in the direction of an arrow. */
function moveBy(event: KeyboardEvent<HTMLElement>, box: RefObject<HTMLElement | null>): void {
  const nodes = [...(box.current?.querySelectorAll<HTMLElement>('.walk-node') ?? [])];
  const boxes = nodes.map((node) => node.getBoundingClientRect());
  const next = nodes[findNext(event.key, event.currentTarget.getBoundingClientRect(), boxes)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

interface WayShape {
  way: readonly string[];
  linkOn(identifier: string): string;
}

function WalkedWay({ way, linkOn }: WayShape) {
  return (
    <nav className="crumbs" aria-label={t('The way so far')}>
      {way.map((identifier, at) => (
        <span key={identifier}>
          {at > 0 && <span aria-hidden="true">› </span>}
          {at === way.length - 1 ? (
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
}

function Name({ identifier }: { identifier: string }) {
  const { data } = useProduct(identifier);
  return data?.product.name || identifier;
}

const MOST_BRANCHES = 6;
/** Of a relation; the more relations, the fewer. */
const NODES = { most: 7, least: 3, together: 14 };
const GLIDE_MS = 240;
/** A unit of the lines' picture is a sixteenth of a rem. */
const REM = 16;

interface Shape {
  product: ProductPage['product'];
  ways: readonly Way[];
  /** The step before. */
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

/** Where the product stood that was chosen, so that it glides to the middle; the picture that follows takes it. */
let chosenAt: DOMRect | undefined;

/** A product in the middle, its related products on both sides; as a list it reads the same. */
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
  const drawSide = ({ branches: places }: WalkSide, side: string) => (
    <ul className={`walk-side ${side}`}>
      {places.map((at) => {
        const branch = branches[at];
        return branch && <BranchList key={at} {...{ branch, at, cameFrom, linkOn, keyed }} />;
      })}
    </ul>
  );
  const isLopsided = left.branches.length === 0;
  return (
    <div className={isLopsided ? 'walk lopsided' : 'walk'}>
      <Middle {...{ product, hasWalked: cameFrom !== undefined, keyed: keyed('') }} />
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

interface MiddleShape extends Pick<Shape, 'product'> {
  /** The page is that of another product. */
  hasWalked: boolean;
  keyed: Keyed;
}

function Middle({ product, hasWalked, keyed }: MiddleShape) {
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
      {hasWalked && <span className="walk-open">{t('Open its page')}</span>}
    </a>
  );
}

interface BranchShape extends Pick<Shape, 'cameFrom' | 'linkOn'> {
  branch: Branch;
  at: number;
  keyed(name: string): Keyed;
}

function BranchList({ branch: { way, shown, more }, at, cameFrom, linkOn, keyed }: BranchShape) {
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
                // Another tab is not walked in.
                if (!(ctrlKey || metaKey || shiftKey)) chosenAt = currentTarget.getBoundingClientRect();
              }}
              {...keyed(`${at} ${first.identifier}`)}
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
