/** What went wrong in a figure: with any of it, its numbers mean nothing and the benchmark fails. */
import type { LoadReading } from './http-load.ts';
import type { WakeReading } from './load-protocol.ts';
import type { ReceiverReading } from './receiver-protocol.ts';

export class Trouble {
  readonly list: string[] = [];

  add(what: string): void {
    this.list.push(what);
  }

  expectGoodAnswers(server: string, { wrong, firstWrong }: LoadReading): void {
    if (wrong > 0) this.add(`${server}: ${wrong} wrong answers, the first: ${firstWrong}`);
  }

  expectLoggedIn(server: string, expected: number, found: number): void {
    if (found !== expected) this.add(`${server}: ${found} of ${expected} sessions are there`);
  }

  expectGoodWakes(server: string, reading: WakeReading): void {
    this.expectGoodAnswers(server, reading.answers);
    const { missing, strange } = reading;
    if (missing > 0) this.add(`${server}: ${missing} packets did not arrive`);
    if (strange > 0) this.add(`${server}: ${strange} arrivals that were no expected packet`);
  }
  expectDelivered(server: string, written: number, { received, strange }: ReceiverReading): void {
    if (received < written) this.add(`${server}: ${written - received} of ${written} events did not come`);
    if (strange > 0) this.add(`${server}: ${strange} bodies came that were no event of ours`);
  }
}
