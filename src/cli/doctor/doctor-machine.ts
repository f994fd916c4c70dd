/** The doctor's checks of the machine: Node, native packages (each is loaded), and limits. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { findNodeSupport, supportedNodes } from '../../lib/package-version.ts';
import type { MissingBinaryError } from '../../lib/connections/uws-binary.ts';
import { messageOf } from '../../lib/result.ts';
import type { Settings } from '../../server/config/settings-schema.ts';
import { failing, ok, warn, type Finding } from '../../server/health/finding.ts';
import { checkMachineLimits, thisMachine } from '../../server/health/machine-checks.ts';
import { makeTemporaryDirectory } from '../../storage/lmdb/leftovers.ts';
import type { CommandContext } from '../shell/command-context.ts';

export async function checkMachine(
  { settings, clock }: Pick<CommandContext, 'settings' | 'clock'>,
  machine = thisMachine(),
): Promise<Finding[]> {
  return [
    checkNode(machine.nodeVersion),
    await checkFrontEnd(),
    await checkStorePackage(),
    await checkEngine(settings.media.process),
    await checkRtc(settings.media),
    ...checkMachineLimits(settings, clock.wallMs(), machine),
  ];
}

function checkNode(version: string): Finding {
  const support = findNodeSupport(version);
  const advice = `run on Node ${supportedNodes()}`;
  if (support === 'too-old') return failing('node', `${version} is too old`, advice);
  if (support === 'untested') return warn('node', `${version} is not a tested version`, advice);
  return ok('node', version);
}

async function checkFrontEnd(): Promise<Finding> {
  try {
    await import('../../lib/uws.ts');
    return ok('uWebSockets.js', 'its binary loads');
  } catch (error) {
    const { fault, advice } = error as MissingBinaryError;
    return failing('uWebSockets.js', fault, advice);
  }
}

/** Opens a store in a temporary directory, so that the state of the data directory does not matter. */
async function checkStorePackage(): Promise<Finding> {
  const directory = makeTemporaryDirectory();
  try {
    // Lazy: the doctor can report a missing binary.
    const { Environment } = await import('../../storage/lmdb/environment.ts');
    await new Environment(join(directory, 'doctor.mdb')).close();
    return ok('lmdb', 'its binary loads and opens a store');
  } catch (error) {
    const [fault = ''] = messageOf(error).split('\n');
    return failing('lmdb', fault, 'run npm ci on this machine, without --omit=optional');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Only the media process scales pictures; it loads the same library. */
async function checkEngine(mediaProcess: Settings['media']['process']): Promise<Finding> {
  const check = 'ffmpeg';
  if (mediaProcess !== 'child') return ok(check, `not needed here: media.process is ${mediaProcess}`);
  const { openEngine } = await import('../../media/codec/engine.ts');
  const engine = await openEngine();
  if (engine.ok) return ok(check, `${engine.value.version} loads`);
  return warn(check, engine.error, 'without it, only calls whose video needs no conversion are accepted');
}

async function checkRtc({ process, webrtc }: Settings['media']): Promise<Finding> {
  const check = 'webrtc';
  if (process !== 'child') return ok(check, `not needed here: media.process is ${process}`);
  if (!webrtc) return ok(check, 'switched off: media.webrtc');
  const { openRtcEngine } = await import('../../media/webrtc/rtc-engine.ts');
  const engine = await openRtcEngine();
  if (engine.ok) return ok(check, 'its library loads');
  return warn(check, engine.error, 'without it, devices and viewers connect only by WebSocket and HTTP');
}
