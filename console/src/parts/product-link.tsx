import { useProject } from '../state/project.ts';
import { linkTo } from '../state/route.ts';

export function ProductLink({ identifier }: { identifier: string }) {
  const project = useProject();
  return (
    <a className="mono" href={linkTo('projects', project.id, 'products', identifier)}>
      {identifier}
    </a>
  );
}

/** Some products, and whether there are more. */
export function ProductLinks({ identifiers, hasMore }: { identifiers: readonly string[]; hasMore: boolean }) {
  return (
    <>
      {identifiers.map((identifier, at) => (
        <span key={identifier}>
          {at > 0 && ', '}
          <ProductLink identifier={identifier} />
        </span>
      ))}
      {hasMore && ' …'}
    </>
  );
}
