/**
 * Runs the codec fuzzer in its own process, because a crash would end it. Arguments: seconds and seed. Prints a report; exits 1
 * on a failure.
 */
import { constants, setPriority } from 'node:os';
import { SystemClock } from '../../../src/lib/system-clock.ts';
import { openEngine } from '../../../src/media/codec/engine.ts';
import { fuzzCodec } from '../../support/codec-fuzz.ts';

const [seconds = NaN, seed = NaN] = process.argv.slice(2).map(Number);
// Low priority, because the fuzzer never idles and must not delay the calls.
setPriority(constants.priority.PRIORITY_LOW);
const engine = await openEngine();
if (!engine.ok) throw new Error(engine.error);
const clock = new SystemClock();
console.log(JSON.stringify(await fuzzCodec({ engine: engine.value, seed, clock, seconds })));
