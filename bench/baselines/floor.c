/* The floor of added latency: receive, find the text, write it. Usage: floor PORT PATH */
#define _GNU_SOURCE /* memmem */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SIZE 65536
static const char MARK[] = "\"content\":\"";

/* Writes the text of every whole event in buffer; returns how many bytes it used. */
static size_t write_texts(char *buffer, size_t filled)
{
    char *from = buffer, *end;
    while ((end = memmem(from, buffer + filled - from, "\n\n", 2))) {
        char *text = memmem(from, end - from, MARK, sizeof MARK - 1);
        if (text) {
            char out[SIZE];
            size_t length = 0;
            for (text += sizeof MARK - 1; text < end && *text != '"'; text++) {
                if (*text == '\\' && text[1] == 'n') {
                    out[length++] = '\n';
                    text++;
                } else {
                    out[length++] = *text;
                }
            }
            if (length && write(1, out, length) < 0)
                exit(1);
        }
        from = end + 2;
    }
    return from - buffer;
}

int main(int count, char **arguments)
{
    static char buffer[SIZE];
    struct sockaddr_in server = {.sin_family = AF_INET};
    int on = 1, connection = socket(AF_INET, SOCK_STREAM, 0);
    size_t filled = 0;
    ssize_t got;
    if (count != 3)
        return 2;
    server.sin_port = htons(atoi(arguments[1]));
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(connection, (struct sockaddr *)&server, sizeof server))
        return 1;
    dprintf(connection, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
            arguments[2]);
    while ((got = recv(connection, buffer + filled, SIZE - filled, 0)) > 0) {
        filled += got;
        size_t used = write_texts(buffer, filled);
        memmove(buffer, buffer + used, filled -= used);
    }
    return got < 0;
}
