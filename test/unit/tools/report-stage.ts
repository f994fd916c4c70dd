/** A context for simulation reports that records answers, remarks and the progress line. */
import { type Output, ProgressLine } from '../../../src/cli/shell/output.ts';
import { DrivenClock } from '../../support/driven-clock.ts';

type Json = Readonly<Record<string, unknown>>;

export function reportStage({ wantsJson = false, isTTY = false } = {}) {
  const clock = new DrivenClock();
  const answers: { readonly json: Json; readonly text: string }[] = [];
  const remarks: string[] = [];
  const screen = { isTTY, written: '', write: (text: string) => (screen.written += text) };
  const output: Output = {
    wantsJson,
    answer: (json, text) => void answers.push({ json: json as Json, text }),
    refusal: () => undefined,
    remark: (text) => void remarks.push(text),
    warning: () => undefined,
  };
  const context = { clock, output, newProgressLine: () => new ProgressLine(screen, clock) };
  return { clock, context, answers, remarks, screen };
}
