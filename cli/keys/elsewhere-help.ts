/** The flag of commands by which admins decide: what it is called and does. */
export const WAIT_FLAG = ['--wait', 'at a server, wait for the decision without a terminal too'] as const;

/** What is said in the help of those commands of a server elsewhere. */
export const ELSEWHERE_HELP = `At a server (--host, or a login) an admin decides on the page of the key, by a passkey: the command prints its address,
opens it in the browser, where what the flags say is filled in, and waits for ten minutes at most. Its exit code is 0
where the key became what was asked for, 1 where it became something else or the mail was refused for good, and 75 where
nothing was decided or the mail may be tried again. Without a terminal it prints the address and ends with 75 at once,
unless --wait is given.`;
