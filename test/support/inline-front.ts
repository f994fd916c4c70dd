/**
 * A front in the test's own thread and on its clock. Messages are copied or transferred as between threads, and arrive a turn
 * later.
 */
import type { Clock } from '../../src/lib/clock.ts';
import { ApiFront } from '../../src/gateways/fronts/api-front.ts';
import type { FromFront, FrontStart, ToFront } from '../../src/gateways/fronts/front-messages.ts';
import type { FrontThread } from '../../src/gateways/fronts/front-thread.ts';

export function startInlineFront(start: FrontStart, clock: Clock): FrontThread {
  let receive: (message: FromFront) => void = () => undefined;
  let end: (reason: string) => void = () => undefined;
  const ended = new Promise<string>((resolve) => (end = resolve));
  const front = new ApiFront(start, clock, (message) => cross(message, [], receive));
  const take = (message: ToFront): void => {
    front.receive(message);
    if (message.kind === 'close') setImmediate(() => end(''));
  };
  return {
    ended,
    onMessage: (listener) => (receive = listener),
    post: (message, moved) => cross(message, moved, take),
    utilization: 0,
    endStuck: () => Promise.resolve(false),
  };
}

function cross<Message>(
  message: Message,
  moved: readonly ArrayBuffer[],
  receive: (message: Message) => void,
): void {
  const copy = structuredClone(message, { transfer: [...moved] });
  setImmediate(() => receive(copy));
}
