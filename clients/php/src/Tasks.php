<?php

declare(strict_types=1);

namespace Relata;

use Generator;

/** The outcome of an update (docs/interface §4.7). */
final class Tasks
{
    /** Less than a minute, after which common HTTP clients close a connection. */
    private const WAIT_SECONDS = 30;

    public function __construct(private readonly Transport $transport)
    {
    }

    /** @return array<string, mixed> */
    public function get(string $id): array
    {
        return $this->transport->read('GET', $this->pathOf($id))['task'];
    }

    /**
     * Waits until the task has ended, however long it takes.
     *
     * @return array<string, mixed> the task, FINISHED
     * @throws RelataException with `task` if it FAILED or was CANCELLED
     */
    public function wait(string $id): array
    {
        do {
            $task = $this->transport->read('GET', $this->pathOf($id), ['wait' => self::WAIT_SECONDS])['task'];
        } while ($task['finishTime'] === null);
        if ($task['taskStatus'] !== 'FINISHED') {
            throw RelataException::ofTask($task);
        }

        return $task;
    }

    /**
     * A page, newest first.
     *
     * @param string|null $status PENDING, RUNNING, FINISHED, FAILED or CANCELLED
     * @return array<string, mixed>
     */
    public function list(
        ?int $projectId = null,
        ?string $status = null,
        ?int $limit = null,
        ?string $cursor = null,
    ): array {
        return $this->transport->read('GET', '/tasks', compact('projectId', 'status', 'limit', 'cursor'));
    }

    /** @return list<array<string, mixed>> oldest line first */
    public function log(string $id): array
    {
        return $this->transport->read('GET', $this->pathOf($id) . '/log')['log'];
    }

    /**
     * The report on single products and values, as it arrives.
     *
     * @return Generator<int, array<string, mixed>>
     */
    public function report(string $id): Generator
    {
        return $this->transport->lines($this->pathOf($id) . '/report');
    }

    /** @return array<string, mixed> the task */
    public function cancel(string $id): array
    {
        return $this->transport->write('POST', $this->pathOf($id) . '/cancel')['task'];
    }

    private function pathOf(string $id): string
    {
        return '/tasks/' . rawurlencode($id);
    }
}
