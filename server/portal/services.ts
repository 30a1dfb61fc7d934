import type { Deps } from '../../shared/deps.ts';
import type { Limits } from '../../shared/limits/limits.ts';
import { type CodeDesk, createCodeDesk } from '../../shared/sign-in/codes.ts';
import type { Throttle } from '../../shared/throttle.ts';
import { type Background, createBackground } from '../background.ts';

/** Logs an event, with the id of the request that it is about. */
export type Report = (level: 'info' | 'warn' | 'error', message: string, cause?: unknown, requestId?: string) => void;

/** The services of pages and of `/manage`. */
export type PortalServices = {
  readonly access: Deps;
  readonly background: Background;
  readonly report: Report;
  /** The limits whose levels pages show: those of the server. */
  readonly limits: Limits;
  /** How often each IP address has sent the forms that strangers can send, by their routes. */
  readonly throttles: Map<string, Throttle>;
  /** What is counted about requests for sign-in codes, and the mails being sent. */
  readonly codes: CodeDesk;
  /** Once true, no approval may start. */
  isStopping: boolean;
};

/** Creates the services. */
export function createPortalServices(access: Deps, report: Report, limits: Limits): PortalServices {
  return {
    access,
    background: createBackground(),
    report,
    limits,
    throttles: new Map(),
    codes: createCodeDesk(access.clock),
    isStopping: false,
  };
}
