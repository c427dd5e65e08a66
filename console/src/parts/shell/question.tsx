import { t } from '../../languages/text.ts';
import { useQuestion } from '../../state/question.ts';
import { Button } from '../button.tsx';
import { Dialog } from '../dialog.tsx';

/** What is asked over any view, as `ask` of state/question.ts asks it. */
export function QuestionDialog() {
  const question = useQuestion();
  if (question === undefined) return null;
  const { title, words, action, answer } = question;
  return (
    <Dialog title={title} isOpen onClose={() => answer(false)}>
      <p>{words}</p>
      <div className="dialog-foot">
        <Button onClick={() => answer(false)}>{t('Stay here')}</Button>
        <Button look="danger" onClick={() => answer(true)}>
          {action}
        </Button>
      </div>
    </Dialog>
  );
}
