import { t } from '../languages/text.ts';
import { describeExtent, type Extent } from '../rules/sampled.ts';
import { Button } from './button.tsx';
import { Loading } from './page.tsx';

/**
 * Shows the part of the products from which the counts beside it are estimated. Shows nothing beside exact
 * counts.
 */
export function SampleNote({ extent }: { extent: Extent }) {
  const words = describeExtent(extent);
  return words === '' ? null : <p className="soft small">{words}</p>;
}

interface CountAllShape {
  countAll: (() => void) | undefined;
  isCounting: boolean;
}

/** Offers exact counts of a catalog that is too large to be counted without a request. */
export function CountAll({ countAll, isCounting }: CountAllShape) {
  if (isCounting) return <Loading words={t('Counting …')} />;
  if (countAll === undefined) return null;
  return (
    <div className="row">
      <Button look="quiet" onClick={countAll}>
        {t('Count all products')}
      </Button>
    </div>
  );
}
