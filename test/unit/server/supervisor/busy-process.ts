/** A process under a supervisor in one turn of its event loop, busy until the file that it is given is there. */
import { existsSync } from 'node:fs';
import { SystemClock } from '../../../../src/lib/system-clock.ts';
import { reportToSupervisor } from '../../../../src/server/supervisor/process-channel.ts';
import { LoopProgress } from '../../../../src/lib/loop-progress.ts';

const [file = ''] = process.argv.slice(2);
const progress = new LoopProgress(new SystemClock());
progress.onSign(() => reportToSupervisor({ kind: 'heartbeat', sleep: { open: 0, taken: 0 } }));
while (!existsSync(file)) progress.advance();
process.disconnect();
