/** Wrong answers, lost sessions and missing events of a benchmark: any of them invalidates its numbers and fails it. */
import type { LoadReading } from '../load/http-load.ts';
import type { WakeReading } from '../load/wake-watch.ts';

export class Trouble {
  readonly list: string[] = [];

  add(what: string): void {
    this.list.push(what);
  }

  expectGoodAnswers(row: string, { wrong, firstWrong }: LoadReading): void {
    if (wrong > 0) this.add(`${row}: ${wrong} wrong answers, the first: ${firstWrong}`);
  }

  expectGoodWakes(row: string, { answers, missing, strange }: WakeReading): void {
    this.expectGoodAnswers(row, answers);
    if (missing > 0) this.add(`${row}: ${missing} packets did not arrive`);
    if (strange > 0) this.add(`${row}: ${strange} arrivals that were no expected packet`);
  }
}
