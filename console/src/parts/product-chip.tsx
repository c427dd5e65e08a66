import type { ReactNode } from 'react';
import { useLookedUp } from '../state/looked-up.ts';
import { projectLink } from '../state/route.ts';
import { Joined, Thumb } from './show.tsx';

interface Shape {
  product: { readonly identifier: string; readonly name?: string; readonly thumbnail?: string };
  /** Behind the identifier. */
  note?: string;
  /** There is no page of it yet. */
  isPlanned?: boolean;
  /** Why it is here. */
  children?: ReactNode;
}

/** A product as people know it: picture, name, identifier. It leads to its page. */
export function ProductChip({ product: { identifier, name, thumbnail }, note, isPlanned, children }: Shape) {
  const content = (
    <>
      <Thumb url={thumbnail} />
      <span>
        <span className="cut block">{name}</span>
        <span className="mono soft">
          {identifier}
          {note}
        </span>
        {children}
      </span>
    </>
  );
  if (isPlanned) return <div className="product-chip">{content}</div>;
  return (
    <a className="product-chip" href={projectLink('products', identifier)}>
      {content}
    </a>
  );
}

/** A product of which only the identifier is known yet. */
export function FoundChip({ identifier }: { identifier: string }) {
  const product = useLookedUp(identifier);
  const images = product?.images ?? [];
  const thumbnail = (images.find(({ type }) => type === 'SMALL' || type === 'THUMB') ?? images[0])?.url;
  const name = product?.name ?? '';
  return <ProductChip product={{ identifier, name, ...(thumbnail && { thumbnail }) }} />;
}

/** A product by its name; its identifier stands behind, in grey. */
export function ProductLink({ identifier }: { identifier: string }) {
  const name = useLookedUp(identifier)?.name;
  return (
    <a href={projectLink('products', identifier)}>
      {name && `${name} `}
      <span className={name ? 'mono soft small' : 'mono'}>{identifier}</span>
    </a>
  );
}

/** Some products, and whether there are more. */
export function ProductLinks({ identifiers, hasMore }: { identifiers: readonly string[]; hasMore: boolean }) {
  return (
    <>
      <Joined list={identifiers}>{(identifier) => <ProductLink identifier={identifier} />}</Joined>
      {hasMore && ' …'}
    </>
  );
}
