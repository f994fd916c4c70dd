/** Checks of the data directory: owner and mode, free space on its disk, and for the doctor an undamaged store. */
import { accessSync, constants, existsSync, statSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import { probeDisk, freeBytesOf } from '../../storage/lmdb/disk-room.ts';
import { accessError, checkStoreAccess, hasStore } from '../../storage/lmdb/store-access.ts';
import { walkStore } from '../../storage/lmdb/store-damage.ts';
import { adviceOf, damageAdvice } from '../../storage/lmdb/store-fault.ts';
import { livingPid } from '../../storage/lmdb/data-directory.ts';
import { storeFileNames, StoreOpenError } from '../../storage/lmdb/store-format.ts';
import { damageWalkOfDoctorMsMax } from '../../storage/lmdb/store-limits.ts';
import { failing, inMegabytes, megabyte, ok, warn, type Finding } from './finding.ts';

/** The checks stop at damage: reading further would crash this process. */
export async function checkDirectory(directory: string, freeOf = freeBytesOf): Promise<Finding[]> {
  const found = await checkRoom(directory, freeOf);
  if (found.some(({ state, check }) => state === 'fail' && check === placeCheck)) return found;
  // Skip a store in use: a long read transaction would keep all its old pages.
  if (!hasStore(directory) || livingPid(directory) !== null) return found;
  return [...found, await checkDamage(directory)];
}

/** Checks the directory and its disk. `probe`: as `probeDisk`. */
export async function checkRoom(
  directory: string,
  freeOf = freeBytesOf,
  probe = probeDisk,
): Promise<Finding[]> {
  const place = checkDataDirectory(directory);
  return place.state === 'fail' ? [place] : [place, await checkDisk(directory, freeOf, probe)];
}

const placeCheck = 'data directory';

const damageCheck = 'store files';

async function checkDamage(directory: string): Promise<Finding> {
  const walk = await walkStore(directory, damageWalkOfDoctorMsMax);
  if (walk.state === 'damaged') return failing(damageCheck, walk.damage, damageAdvice);
  const found =
    walk.state === 'whole' ? 'every entry can be read' : 'no damage where they could be read in time';
  return ok(damageCheck, found);
}

/** True: the store may be opened in this process. */
export function isOpenable(findings: readonly Finding[]): boolean {
  return findings.every(
    ({ check, state }) => state !== 'fail' || (check !== damageCheck && check !== placeCheck),
  );
}

/** Room for a backup on the same disk, and for pages that LMDB copies before it frees the old ones. */
const roomFactor = 3;
const roomBytesMin = 1000 * megabyte;
const roomBytesTooLow = 100 * megabyte;

/** Checks the disk of the nearest existing parent directory. */
async function checkDisk(
  directory: string,
  freeOf: typeof freeBytesOf,
  probe: typeof probeDisk,
): Promise<Finding> {
  const check = 'disk';
  try {
    if (!existsSync(directory) && dirname(directory) !== directory)
      return await checkDisk(dirname(directory), freeOf, probe);
    const files = Object.values(storeFileNames).map((name) => join(directory, name));
    const stored = files.reduce(
      (sum, file) => sum + (statSync(file, { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
    const refusal = existsSync(directory) ? await findRefusal(directory, probe) : null;
    return refusal ?? judgeDisk(freeOf(directory), stored);
  } catch (error) {
    return warn(check, `its free space is unknown: ${(error as Error).message}`, 'check it with df');
  }
}

/** Null: writes succeed. */
async function findRefusal(directory: string, probe: typeof probeDisk): Promise<Finding | null> {
  const refusal = await probe(directory);
  if (refusal === null) return null;
  const found = `${inMegabytes(freeBytesOf(directory))} free, and a write fails: ${refusal.message}`;
  return failing('disk', found, adviceOf(refusal));
}

function judgeDisk(freeBytes: number, storedBytes: number): Finding {
  const found = `${inMegabytes(freeBytes)} free, the store has ${inMegabytes(storedBytes)}`;
  const wanted = Math.max(roomBytesMin, roomFactor * storedBytes);
  const advice = `keep ${inMegabytes(wanted)} free: a full disk stops all changes`;
  if (freeBytes < roomBytesTooLow) return failing('disk', found, advice);
  return freeBytes < wanted ? warn('disk', found, advice) : ok('disk', found);
}

function checkDataDirectory(directory: string): Finding {
  const check = placeCheck;
  const elsewhere = 'name another directory with --data-dir';
  let stats: Stats | undefined;
  try {
    stats = statSync(directory, { throwIfNoEntry: false });
    if (stats !== undefined) accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK);
    checkStoreAccess(directory);
  } catch (error) {
    const denied = error instanceof StoreOpenError ? error : accessError(error as Error, directory, 'use');
    return failing(check, denied.message, elsewhere);
  }
  if (stats === undefined)
    return warn(check, `${directory} does not exist yet`, 'the first start creates it');
  if (!stats.isDirectory()) return failing(check, `${directory} is no directory`, elsewhere);
  const ownUid = process.getuid?.();
  if (ownUid !== undefined && stats.uid !== ownUid)
    return failing(
      check,
      `${directory} belongs to user ${stats.uid}, this is user ${ownUid}`,
      `run as its owner, or ${elsewhere}`,
    );
  const mode = stats.mode & 0o777;
  if (process.platform !== 'win32' && mode !== 0o700)
    return warn(
      check,
      `${directory} has mode 0${mode.toString(8)}`,
      `restrict it: chmod 700 ${directory}; a start does so, too`,
    );
  return ok(check, `${directory}, private`);
}
