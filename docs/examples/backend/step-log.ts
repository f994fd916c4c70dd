/** What happens, one JSON line a step: `room` and `device` are in every line of a call, keys and tokens in none. */

export type StepFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

export type StepLog = (step: string, fields?: StepFields) => void;

export function writeStep(step: string, fields: StepFields = {}): void {
  process.stdout.write(`${JSON.stringify({ at: new Date().toISOString(), step, ...fields })}\n`);
}
