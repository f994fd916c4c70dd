/** Wakes now and then one by chance of the devices that are asleep, and says what became of it. */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { WakeupOutcomeData } from '../../client/reveille-client.ts';

interface RandomWaking {
  readonly clock: Clock;
  readonly everyMs: number;
  /** One that is asleep; null: none is. */
  readonly pick: () => string | null;
  /** Wakes it and waits for the outcome; rejects when it could not be woken, or nobody knows. */
  readonly wake: (deviceId: string) => Promise<WakeupOutcomeData>;
  readonly onOutcome: (outcome: WakeupOutcomeData) => void;
  readonly onTrouble: (deviceId: string, error: Error) => void;
}

/** Wakeups whose outcome is awaited; beyond it nobody is woken. */
const awaitedMax = 64;

/** Until it is cancelled; outcomes that are awaited then are not told. */
export function wakeAtRandom({ clock, everyMs, pick, wake, onOutcome, onTrouble }: RandomWaking): Cancel {
  let awaited = 0;
  let isStopped = false;
  const wakeOne = async (): Promise<void> => {
    const deviceId = awaited < awaitedMax ? pick() : null;
    if (deviceId === null) return;
    awaited += 1;
    try {
      const outcome = await wake(deviceId);
      if (!isStopped) onOutcome(outcome);
    } catch (error) {
      if (!isStopped) onTrouble(deviceId, error as Error);
    } finally {
      awaited -= 1;
    }
  };
  const cancel = clock.every(everyMs, () => void wakeOne());
  return () => {
    isStopped = true;
    cancel();
  };
}
