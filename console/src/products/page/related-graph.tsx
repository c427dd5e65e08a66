import { type KeyboardEvent, type RefObject, useRef } from 'react';
import { t } from '../../languages/text.ts';
import { Answer, Card } from '../../parts/page.tsx';
import { findNext, walkTo } from '../../rules/walk.ts';
import { projectLink, useRoute } from '../../state/route.ts';
import { useAround, useProduct } from './around.ts';
import { Picture } from './graph-picture.tsx';

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
      {way.length > 1 && <Way way={way} linkOn={linkOn} />}
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

function Way({ way, linkOn }: WayShape) {
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
