/**
 * The fuzzer of the codec in a process of its own, which a crash would take with it: for so many seconds, from a seed, both its
 * arguments. Prints its report; exits 1 with what was wrong.
 */
import { constants, setPriority } from 'node:os';
import { SystemClock } from '../../../src/lib/system-clock.ts';
import { openEngine } from '../../../src/media/codec/engine.ts';
import { fuzzCodec } from '../../support/codec-fuzz.ts';

const [seconds = NaN, seed = NaN] = process.argv.slice(2).map(Number);
// It never rests, and the calls beside it are not to wait for it.
setPriority(constants.priority.PRIORITY_LOW);
const engine = await openEngine();
if (!engine.ok) throw new Error(engine.error);
const clock = new SystemClock();
console.log(JSON.stringify(await fuzzCodec({ engine: engine.value, seed, clock, seconds })));
