import type { Config } from '../../../shared/config/config.ts';
import { answerCall } from '../../manage/answer.ts';
import { refuseCall } from '../../manage/refusals.ts';
import type { PageAnswer, PageRequest } from '../messages.ts';
import { answerPage, refuseUnopened } from '../pages.ts';
import type { Pages } from '../visit.ts';

/** Answers whatever the platform thread is asked: pages, and JSON under `/manage`. Never throws. */
export async function answerRequest(pages: Pages, request: PageRequest): Promise<PageAnswer> {
  return isCall(request) ? answerCall(pages, request) : answerPage(pages, request);
}

/** Makes the answer to an error, as a page or as JSON. Never throws. */
export function refuseRequest(config: Config, request: PageRequest, error: unknown): PageAnswer {
  return isCall(request) ? refuseCall(error) : refuseUnopened(config, request, error);
}

function isCall({ path }: PageRequest): boolean {
  return path === '/manage' || path.startsWith('/manage/');
}
