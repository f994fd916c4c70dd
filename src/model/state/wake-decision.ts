/** Whether a module can be woken in the way that is asked for. Source: decisions.md, Wakeup. */
import type { WakeMode } from '../sleep.ts';

export function canWake(mode: WakeMode, carriesCustomData: boolean): boolean {
  return mode === 'custom' || (mode === 'fixed' && !carriesCustomData);
}
