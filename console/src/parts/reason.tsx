import type { RelatedReason } from '@relata/client';
import { t } from '../languages/text.ts';
import { sayComparison } from '../rules/filters.ts';
import { Icon } from './icon.tsx';

/** Why a product is a result, match by match: `Module size 16 GB is at most Maximum memory 192 GB`. */
export function Reason({ reason }: { reason: Pick<RelatedReason, 'match'> }) {
  return (
    <>
      {reason.match.map(({ target, operator, source, targetValues, sourceValues, holds }) => {
        const [left, right] = [targetValues, sourceValues].map(
          (values) => values.join(', ') || t('no value'),
        );
        const words =
          operator === 'equals' && holds
            ? `${target}: ${left}`
            : sayComparison(`${target} ${left}`, operator, `${source} ${right}`);
        return (
          <span key={`${target} ${operator} ${source}`} className="reason small" title={words}>
            <span className={holds ? 'holds' : 'fails'}>
              <Icon name={holds ? 'check' : 'cross'} />
              <span className="hidden">{holds ? t('holds') : t('does not hold')}</span>
            </span>
            <span className="soft">{words}</span>
          </span>
        );
      })}
    </>
  );
}
